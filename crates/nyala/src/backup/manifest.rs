// SPDX-License-Identifier: Apache-2.0

//! What a backup says of itself: first whose it is, last what every file in it has to be.

use crate::exit::Failure;
use nyala_wire::ClusterId;
use serde::{Deserialize, Serialize};

/// Version of the layout of backups.
pub const FORMAT: u32 = 1;
/// The first entry: a [`Manifest`] as JSON.
pub const HEAD: &str = "nyala-backup.json";
/// The last entry: a list of [`Sum`] as JSON.
pub const SUMS: &str = "sums.json";
/// Where the files of the directory are.
pub const FILES: &str = "files";
/// Of the two above, the most that is read, bytes.
pub const MAX_TEXT: u64 = 16 << 20;

/// What kind of directory it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A management service's.
    Mgmt,
    /// A metadata target.
    Meta,
}

impl Kind {
    /// The file that makes a directory one of this kind.
    pub fn identity(self) -> &'static str {
        match self {
            Kind::Mgmt => "mgmt.toml",
            Kind::Meta => "target.toml",
        }
    }

    /// The directory of its store.
    pub fn store(self) -> &'static str {
        match self {
            Kind::Mgmt => "store",
            Kind::Meta => "tables",
        }
    }
}

/// Whose backup it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] of the build that made it.
    pub format: u32,
    /// What it is of.
    pub kind: Kind,
    /// The cluster.
    pub cluster: ClusterId,
    /// Number of the management node, or of the metadata target.
    pub id: u64,
    /// When it was made, seconds since 1970.
    pub made_at: u64,
    /// On which host.
    pub host: String,
    /// From which directory.
    pub dir: String,
    /// The version of the program that made it.
    pub version: String,
}

impl Manifest {
    /// From the first entry of a backup.
    pub fn read(text: &[u8]) -> Result<Manifest, Failure> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let foreign =
            |error: serde_json::Error| Failure::failed(format!("it is no backup of nyala, or is damaged: {error}"));
        let Head { format } = serde_json::from_slice(text).map_err(foreign)?;
        if format > FORMAT {
            return Err(Failure::failed(format!(
                "it has format {format}, this build knows up to {FORMAT}; use the version of nyala that made it, or a newer one"
            )));
        }
        serde_json::from_slice(text).map_err(foreign)
    }
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Its path in the directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// CRC-32C of its content.
    pub crc32c: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backup_says_of_itself_is_read_again() {
        let manifest = Manifest {
            format: FORMAT,
            kind: Kind::Meta,
            cluster: ClusterId([7; 16]),
            id: 3,
            made_at: 1_700_000_000,
            host: "h".into(),
            dir: "/data/meta".into(),
            version: "0.1".into(),
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        assert_eq!(Manifest::read(&text), Ok(manifest));
        let newer = String::from_utf8(text).unwrap().replace("\"format\":1", "\"format\":9,\"more\":0");
        assert!(Manifest::read(newer.as_bytes()).unwrap_err().message.contains("format 9"));
        assert!(Manifest::read(b"{}").unwrap_err().message.contains("no backup"));
    }
}
