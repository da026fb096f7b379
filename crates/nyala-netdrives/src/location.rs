// SPDX-License-Identifier: Apache-2.0

//! Where a drive is: a directory of this host, or a name at a drive service.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a drive is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DriveLocation {
    /// A directory of this host.
    Dir(PathBuf),
    /// Of a drive service.
    Net {
        /// Where the service listens: `HOST:PORT`.
        service: String,
        /// The drive's name there.
        name: String,
    },
}

/// What is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no drive: a directory as /drives/1, or a drive of another host's storage service as net://10.0.0.2:8004/d1"
)]
pub struct LocationError {
    text: String,
}

/// What places of drive services begin with.
const NET: &str = "net://";

/// Whether a drive may have that name: 1 to 64 letters, digits, `-`, `_` and `.`.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

impl DriveLocation {
    /// The directory, if it is one.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            DriveLocation::Dir(dir) => Some(dir),
            DriveLocation::Net { .. } => None,
        }
    }
}

impl FromStr for DriveLocation {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<DriveLocation, LocationError> {
        let wrong = || LocationError { text: text.to_owned() };
        let Some(rest) = text.strip_prefix(NET) else {
            let is_dir = !text.is_empty() && !text.contains("://");
            return if is_dir { Ok(DriveLocation::Dir(text.into())) } else { Err(wrong()) };
        };
        let (service, name) = rest.split_once('/').ok_or_else(wrong)?;
        let is_host = |(host, port): &(&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
        service.rsplit_once(':').filter(is_host).ok_or_else(wrong)?;
        let (service, named) = (service.to_owned(), name.to_owned());
        if is_name(name) { Ok(DriveLocation::Net { service, name: named }) } else { Err(wrong()) }
    }
}

impl fmt::Display for DriveLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveLocation::Dir(dir) => dir.display().fmt(f),
            DriveLocation::Net { service, name } => write!(f, "{NET}{service}/{name}"),
        }
    }
}

impl From<PathBuf> for DriveLocation {
    fn from(dir: PathBuf) -> DriveLocation {
        DriveLocation::Dir(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for text in
            ["/drives/1", "d1", "net://10.0.0.2:7400/d1", "net://[fd00::2]:7400/nvme-0.part_1", "net://oss2:7400/d"]
        {
            assert_eq!(text.parse::<DriveLocation>().map(|location| location.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "nfs://10.0.0.2/d1",
            "net://:7400/d1",
            "net://oss2:0/d1",
            "net://",
            "net://10.0.0.2/d1",
            "net://10.0.0.2:7400",
            "net://10.0.0.2:7400/",
            "net://10.0.0.2:7400/a/b",
        ] {
            let error = text.parse::<DriveLocation>().expect_err(text);
            assert!(error.to_string().contains("net://10.0.0.2:8004/d1"), "{error}");
        }
        assert!(!is_name(&"x".repeat(65)));
    }
}
