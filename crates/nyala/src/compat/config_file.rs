// SPDX-License-Identifier: Apache-2.0

//! Old configuration files: lines `key = value`, and what their keys are here. The translation is pure.
//!
//! **Failure model.** The file may be missing, no text, or another program's: an error names file and line. A key that nobody
//! knows is named in a notice, since it cannot be said what it would do.

use super::meaning::without_meaning;
use crate::exit::{Failure, io};
use std::path::Path;
use toml::Value;

/// Longest file that is read, bytes.
const MOST: u64 = 1 << 20;

/// Keys and values, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFile {
    keys: Vec<(String, String)>,
}

/// What a file is in Nyala.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translated {
    /// Keys of the settings file.
    pub keys: Vec<(String, Value)>,
    /// Sentences about the others.
    pub notices: Vec<String>,
}

impl ConfigFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<ConfigFile, Failure> {
        let shown = path.display();
        let length = std::fs::metadata(path).map_err(io(&shown))?.len();
        if length > MOST {
            return Err(Failure::config(format!("{shown}: it is longer than 1 MiB; is it a configuration file?")));
        }
        let text = std::fs::read_to_string(path).map_err(io(&shown))?;
        ConfigFile::parse(&text).map_err(|error| Failure::config(format!("{shown}: {error}")))
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<ConfigFile, String> {
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) =
                line.split_once('=').ok_or_else(|| format!("line {number} is not key = value: {line}"))?;
            keys.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(ConfigFile { keys })
    }

    /// The value of a key, if it is set to something.
    pub fn value(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().rev().find(|(own, _)| own == key)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
    }

    /// What it says, for a role (`mgmtd`, `meta`, `storage`, `client`).
    pub fn translate(&self, role: &str) -> Translated {
        let mut out = Translated::default();
        for (key, value) in self.keys.iter().filter(|(_, value)| !value.is_empty()) {
            let new = translated(key, value, role, &mut out.notices);
            out.keys.extend(new.map(|(key, value)| (key.to_owned(), value)));
        }
        out
    }

    /// The interfaces that `connInterfacesFile` names, in their order; lines with `!` or addresses are left out.
    pub fn interfaces(&self) -> Result<Vec<String>, Failure> {
        let Some(file) = self.value("connInterfacesFile") else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(file).map_err(io(file))?;
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
        Ok(names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    }
}

/// What a key is here; what has no meaning has a notice.
fn translated(key: &str, value: &str, role: &str, notices: &mut Vec<String>) -> Option<(&'static str, Value)> {
    let text = |value: &str| Value::String(value.to_owned());
    let port = || value.parse::<u16>().ok().filter(|port| *port > 0);
    match (key, role) {
        ("sysMgmtdHost", "meta" | "storage" | "client") => Some(("mgmt", Value::Array(vec![text(value)]))),
        ("sysMgmtdHost", _) => None,
        ("connAuthFile", _) => Some(("secret", text(value))),
        ("connMgmtdPortTCP", "mgmtd")
        | ("connMetaPortTCP" | "connMetaPort", "meta")
        | ("connStoragePortTCP" | "connStoragePort", "storage") => match port() {
            Some(port) => Some(("listen", Value::String(format!("0.0.0.0:{port}")))),
            None => {
                notices.push(format!("{key} = {value} is no port and was left out"));
                None
            }
        },
        ("storeMgmtdDirectory", "mgmtd") | ("storeMetaDirectory", "meta") => Some(("dir", text(value))),
        ("connCommRetrySecs", "client") => Some(("retry-timeout", Value::String(format!("{value}s")))),
        ("tuneFileCacheBufSize", "client") => {
            notices.push(format!("{key}: `write-buffer` (64m) is for all files together; {value} was left out"));
            None
        }
        ("tuneNumWorkers", "storage") => value.parse().ok().map(|n: i64| ("workers-per-target", Value::Integer(n))),
        ("tuneTargetChooser", "meta") => {
            notices.push(format!("{key} = {value}: management has `placement`, at the cluster's first start"));
            None
        }
        _ => {
            notices.extend(without_meaning(key));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# made by hand\nsysMgmtdHost = 192.168.5.11\nconnMetaPortTCP=8015\nconnAuthFile = /etc/beegfs/connauthfile\n\
        connMaxInternodeNum = 64\nsysTargetOfflineTimeoutSecs = 180\nstoreMetaDirectory = /data/m\nlogStdFile =\nnovelty = 1\n";

    #[test]
    fn keys_become_ours_or_are_named() {
        let old = ConfigFile::parse(OLD).unwrap();
        let new = old.translate("meta");
        let got: Vec<String> = new.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let want = [
            "mgmt = [\"192.168.5.11\"]",
            "listen = \"0.0.0.0:8015\"",
            "secret = \"/etc/beegfs/connauthfile\"",
            "dir = \"/data/m\"",
        ];
        assert_eq!(got, want);
        assert_eq!(new.notices.len(), 3, "{:?}", new.notices);
        assert!(new.notices[0].contains("connMaxInternodeNum") && new.notices[2].contains("novelty"));
        let read = toml::from_str::<crate::config::MetaSettings>(&got.join("\n"));
        assert!(read.is_ok(), "{read:?}");
        assert_eq!(old.translate("client").keys.len(), 2);
    }

    #[test]
    fn values_of_storage_and_clients() {
        let storage = ConfigFile::parse("tuneNumWorkers = 80\nconnStoragePortTCP = x\n").unwrap().translate("storage");
        assert_eq!(storage.keys, [("workers-per-target".to_owned(), Value::Integer(80))]);
        assert!(storage.notices[0].contains("no port"));
        let client = ConfigFile::parse("connCommRetrySecs=600").unwrap().translate("client");
        assert_eq!(client.keys, [("retry-timeout".to_owned(), Value::String("600s".into()))]);
    }

    #[test]
    fn lines_without_a_value_are_named() {
        assert!(ConfigFile::parse("a = 1\nnonsense\n").unwrap_err().contains("line 2"));
        assert_eq!(ConfigFile::parse("a=").unwrap().value("a"), None);
    }
}
