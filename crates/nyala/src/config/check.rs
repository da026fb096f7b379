// SPDX-License-Identifier: Apache-2.0

//! Checks a configuration file without starting anything.

use super::{ClientSettings, MetaSettings, MgmtdSettings, MonSettings, StorageSettings, load};
use crate::exit::Failure;
use clap::ValueEnum;
use std::path::Path;

/// Roles that have a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigRole {
    /// Management service.
    Mgmtd,
    /// Metadata service.
    Meta,
    /// Storage service.
    Storage,
    /// Mounts and commands.
    Client,
    /// Monitoring service.
    Mon,
}

impl ConfigRole {
    /// The role that a file's name speaks of.
    pub fn of_file(path: &Path) -> Option<ConfigRole> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let words = [
            ("mgmt", ConfigRole::Mgmtd),
            ("meta", ConfigRole::Meta),
            ("storage", ConfigRole::Storage),
            ("client", ConfigRole::Client),
            ("mount", ConfigRole::Client),
            ("mon", ConfigRole::Mon),
        ];
        let mut found = words.iter().filter(|(word, _)| name.contains(word)).map(|(_, role)| *role);
        found.next().filter(|_| found.next().is_none())
    }
}

/// Reads the file as its role would, and says what is wrong. Keys without a default may be missing: they can come from
/// flags or variables.
pub fn check(path: &Path, role: Option<ConfigRole>) -> Result<ConfigRole, Failure> {
    let unclear = || {
        Failure::usage(format!(
            "the name of {} does not say what it configures; add --role mgmtd, meta, storage, client or mon",
            path.display()
        ))
    };
    let role = role.or_else(|| ConfigRole::of_file(path)).ok_or_else(unclear)?;
    let in_file = |error: Failure| error.context(format!("configuration file {}", path.display()));
    match role {
        ConfigRole::Mgmtd => {
            load::<MgmtdSettings>(path)?.resolve().map_err(in_file)?;
        }
        ConfigRole::Meta => {
            let settings = load::<MetaSettings>(path)?;
            if settings.mgmt.is_some() {
                settings.resolve().map_err(in_file)?;
            }
        }
        ConfigRole::Storage => {
            let settings = load::<StorageSettings>(path)?;
            if settings.mgmt.is_some() && settings.targets.is_some() {
                settings.resolve().map_err(in_file)?;
            }
        }
        ConfigRole::Client => {
            load::<ClientSettings>(path)?;
        }
        ConfigRole::Mon => {
            let settings = load::<MonSettings>(path)?;
            if settings.mgmt.is_some() {
                settings.resolve().map_err(in_file)?;
            }
        }
    }
    Ok(role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn the_name_tells_the_role() {
        let role = |name: &str| ConfigRole::of_file(Path::new(name));
        assert_eq!(role("/etc/nyala/inst1.d/storage.toml"), Some(ConfigRole::Storage));
        assert_eq!(role("meta1.toml"), Some(ConfigRole::Meta));
        assert_eq!(role("nyala-mgmtd.conf"), Some(ConfigRole::Mgmtd));
        assert_eq!(role("mount.toml"), Some(ConfigRole::Client));
        assert_eq!(role("/etc/nyala/mon.toml"), Some(ConfigRole::Mon));
        assert_eq!(role("meta-storage.toml"), None);
        assert_eq!(role("x.toml"), None);
    }

    #[test]
    fn values_are_checked_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.toml");
        std::fs::write(&path, "chunk-size = \"1000\"\n").unwrap();
        assert_eq!(check(&path, None).unwrap_err().exit, Exit::Usage);
        let error = check(&path, Some(ConfigRole::Mgmtd)).unwrap_err();
        assert_eq!(error.exit, Exit::Config);
        assert!(error.message.contains("x.toml") && error.message.contains("power of two"), "{error}");
        std::fs::write(&path, "chunk-size = \"1m\"\n").unwrap();
        assert_eq!(check(&path, Some(ConfigRole::Mgmtd)), Ok(ConfigRole::Mgmtd));
        assert!(check(&path, Some(ConfigRole::Client)).unwrap_err().message.contains("chunk-size"));
        std::fs::write(&path, "").unwrap();
        assert_eq!(check(&path, Some(ConfigRole::Storage)), Ok(ConfigRole::Storage));
    }
}
