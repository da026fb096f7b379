// SPDX-License-Identifier: Apache-2.0

//! What is mounted: `HOST[:PORT][,HOST…]:/`.

use crate::units::Hosts;
use std::fmt;
use std::str::FromStr;

/// The management services of the file system to mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its management services.
    pub hosts: Hosts,
    text: String,
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        let form = "write HOST:/ or HOST:PORT:/ (several management hosts with commas: a,b,c:/)";
        let Some((hosts, path)) = text.rsplit_once(":/") else {
            return Err(format!("{text:?} does not say what to mount; {form}"));
        };
        if !path.trim_matches('/').is_empty() {
            return Err(format!("only the root of the file system can be mounted, not /{path}; {form}"));
        }
        let hosts = hosts.parse().map_err(|error| format!("{error}; {form}"))?;
        Ok(Source { hosts, text: text.to_owned() })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_hosts_and_the_root() {
        for (text, hosts) in [
            ("node01:/", "node01"),
            ("node01:8018:/", "node01:8018"),
            ("a,b:9,[::1]:10:/", "a,b:9,[::1]:10"),
            ("[::1]:/", "[::1]"),
            ("n://", "n"),
        ] {
            assert_eq!(text.parse::<Source>().map(|s| s.hosts.to_string()), Ok(hosts.to_owned()), "{text}");
        }
        for bad in ["", "node01", "node01:", ":/", "/", "node01:/sub", "a b:/", "node01:0:/"] {
            let error = bad.parse::<Source>().unwrap_err();
            assert!(error.contains("HOST:/"), "{bad}: {error}");
        }
    }
}
