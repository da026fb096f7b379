// SPDX-License-Identifier: Apache-2.0

//! Pools of spares by their names, as the commands of this host remember them. A set has spares and no pool: which pool it was given says only who is told of changes.
//!
//! **Failure model.** The file is replaced as a whole ([`replace_file`]); of two commands at once, what the later one writes holds. It may be missing: then there are no pools. One that cannot be read is refused, and stays as it is. What holds for a
//! set is what its service was told, and after a restart of that its settings.

use crate::config::CONFIG_DIR;
use crate::exit::{Failure, io};
use crate::setup::replace_file;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file's name.
const FILE: &str = "spare-pools.toml";

/// All pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pools {
    #[serde(default)]
    pub pool: Vec<Pool>,
}

/// One.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub name: String,
    /// Directories, or drives that other hosts lend out.
    pub drives: Vec<String>,
    /// Names of the sets that it was given to.
    #[serde(default)]
    pub sets: Vec<String>,
}

/// Where the pools of this host are.
pub fn file() -> PathBuf {
    Path::new(CONFIG_DIR).join(FILE)
}

impl Pools {
    /// Reads them.
    pub fn load(file: &Path) -> Result<Pools, Failure> {
        match std::fs::read_to_string(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Pools::default()),
            text => {
                let text = text.map_err(io(file.display()))?;
                toml::from_str(&text)
                    .map_err(|error| Failure::config(format!("{}: {}", file.display(), error.message())))
            }
        }
    }

    /// Writes them.
    pub fn save(&self, file: &Path) -> Result<(), Failure> {
        let text = toml::to_string(self).map_err(|error| Failure::failed(error.to_string()))?;
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| replace_file(file, text.as_bytes())).map_err(io(file.display()))
    }

    /// The one with a name.
    pub fn named(&mut self, name: &str) -> Result<&mut Pool, Failure> {
        let unknown = || Failure::failed(format!("There is no spare pool {name}; see xicli pool show"));
        self.pool.iter_mut().find(|pool| pool.name == name).ok_or_else(unknown)
    }

    /// Refuses drives that a pool has.
    pub fn expect_new(&self, drives: &[String]) -> Result<(), Failure> {
        let has = |pool: &&Pool| drives.iter().any(|drive| pool.drives.contains(drive));
        match self.pool.iter().find(has) {
            Some(pool) => Err(Failure::failed(format!("One of the drives is in the spare pool {} already", pool.name))),
            None => Ok(()),
        }
    }

    /// A set has one pool at most. Gives the drives of the one that it had before.
    pub fn give(&mut self, set: &str, to: Option<&str>) -> Result<Vec<String>, Failure> {
        if let Some(to) = to {
            self.named(to)?;
        }
        let mut before = Vec::new();
        for pool in &mut self.pool {
            let had = pool.sets.iter().any(|other| other == set);
            let has = to == Some(pool.name.as_str());
            if had && !has {
                before.extend(pool.drives.iter().cloned());
                pool.sets.retain(|other| other != set);
            }
            if has && !had {
                pool.sets.push(set.to_owned());
            }
        }
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_outlive_the_command_and_a_set_has_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nyala").join(FILE);
        assert_eq!(Pools::load(&file), Ok(Pools::default()));
        let pool = |name: &str, drives: &[&str]| Pool {
            name: name.into(),
            drives: drives.iter().map(|drive| (*drive).to_owned()).collect(),
            sets: vec![],
        };
        let mut pools = Pools { pool: vec![pool("one", &["/drives/7", "/drives/8"]), pool("two", &["net://h:1/d"])] };
        assert_eq!(pools.give("era1", Some("one")), Ok(vec![]));
        assert_eq!(pools.give("era1", Some("one")), Ok(vec![]), "it has it already");
        assert_eq!(pools.give("era1", Some("two")).unwrap(), ["/drives/7", "/drives/8"]);
        assert!(pools.give("era1", Some("three")).unwrap_err().message.contains("no spare pool three"));
        assert_eq!((pools.pool[0].sets.len(), pools.pool[1].sets.as_slice()), (0, &["era1".to_owned()][..]));
        pools.save(&file).unwrap();
        assert_eq!(Pools::load(&file), Ok(pools.clone()));
        assert_eq!(pools.give("era1", None).unwrap(), ["net://h:1/d"]);
        assert!(pools.expect_new(&["/drives/8".to_owned()]).unwrap_err().message.contains("pool one"));
        std::fs::write(&file, "pool = 1").unwrap();
        assert!(Pools::load(&file).is_err());
    }
}
