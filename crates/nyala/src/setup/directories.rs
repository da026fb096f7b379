// SPDX-License-Identifier: Apache-2.0

//! What is in a directory that a service is to have, and what it lies on.

use crate::exit::{Failure, io};
use crate::mount::table;
use nyala_store::own_dir::{Kind, peek};
use nyala_wire::ClusterId;
use std::path::{Component, Path};

/// What may be in a new directory all the same.
const HARMLESS: [&str; 2] = ["lost+found", "LOCK"];
/// File systems that are known to work well.
const GOOD: [&str; 4] = ["xfs", "ext4", "btrfs", "zfs"];

/// A directory that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is not there yet.
    Missing,
    /// Nothing is in it.
    Empty,
    /// It is of the kind that is wanted, and has been registered with a cluster or not.
    Ours {
        /// Whether it has.
        registered: bool,
    },
}

/// Looks at a directory for a metadata or storage target, or a storage service.
pub fn of_kind(dir: &Path, kind: Kind) -> Result<Found, Failure> {
    named(dir)?;
    match peek(dir, kind).map_err(|error| Failure::failed(error.to_string()))? {
        Some(identity) => Ok(Found::Ours { registered: identity.cluster != ClusterId::UNKNOWN }),
        None => empty(dir),
    }
}

/// Looks at a directory for a management service.
pub fn of_mgmtd(dir: &Path) -> Result<Found, Failure> {
    named(dir)?;
    if dir.join("mgmt.toml").exists() { Ok(Found::Ours { registered: true }) } else { empty(dir) }
}

/// Looks at a directory for the history of a monitoring service.
pub fn of_mon(dir: &Path) -> Result<Found, Failure> {
    named(dir)?;
    if dir.join("mon.token").exists() { Ok(Found::Ours { registered: true }) } else { empty(dir) }
}

/// Settings are read from anywhere: names in them begin at the root.
fn named(dir: &Path) -> Result<(), Failure> {
    if !dir.is_absolute() || dir.components().any(|part| part == Component::ParentDir) {
        return Err(Failure::usage(format!("{} is not a full name of a directory; begin with /", dir.display())));
    }
    Ok(())
}

fn empty(dir: &Path) -> Result<Found, Failure> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(io(dir.display())(error)),
    };
    for entry in entries {
        let name = entry.map_err(io(dir.display()))?.file_name();
        if !HARMLESS.iter().any(|harmless| name == *harmless) {
            return Err(Failure::failed(format!(
                "{} is not empty (it holds {:?}); a service needs a directory of its own: name an empty one, or one inside it",
                dir.display(),
                name.to_string_lossy()
            )));
        }
    }
    Ok(Found::Empty)
}

/// What an administrator should know of the file system below a directory; one of ours is refused.
pub fn file_system_note(dir: &Path) -> Result<Option<String>, Failure> {
    let mounts = table::all()?;
    let over = mounts.iter().enumerate().filter(|(_, mounted)| dir.starts_with(&mounted.mountpoint));
    let Some((_, below)) = over.max_by_key(|(at, mounted)| (mounted.mountpoint.components().count(), *at)) else {
        return Ok(None);
    };
    let (shown, kind) = (dir.display(), &below.fs_type);
    if kind == table::FS_TYPE {
        return Err(Failure::failed(format!(
            "{shown} is on a mount of Nyala; services keep their data on local disks"
        )));
    }
    Ok(if !GOOD.contains(&kind.as_str()) {
        Some(format!("{shown} is on {kind}; XFS or ext4 on a disk of its own is what Nyala is made for"))
    } else if below.mountpoint == Path::new("/") {
        Some(format!("{shown} is on the root file system; is its disk mounted? A file system of its own is better"))
    } else {
        None
    })
}

/// A service's own directory that the settings have named `before` was made then: where it is missing now, its disk is not mounted, and a
/// service with a new one would be another service.
pub fn is_not_away(dir: &Path, found: Found, before: Option<&Path>, settings: &Path) -> Result<(), Failure> {
    if found != Found::Missing || before != Some(dir) {
        return Ok(());
    }
    let (dir, settings) = (dir.display(), settings.display());
    Err(Failure::config(format!(
        "{dir} is not there, and {settings} says that this service was set up with it: is its disk mounted? Mount it, and \
         say this again. If nothing was ever in it, or all of it is given up: mkdir -m 700 {dir}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_something_else_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("d");
        let meta = || of_kind(&dir, Kind::MetaTarget);
        assert_eq!(meta(), Ok(Found::Missing));
        std::fs::create_dir_all(dir.join("lost+found")).unwrap();
        assert_eq!((meta(), of_mgmtd(&dir)), (Ok(Found::Empty), Ok(Found::Empty)));
        std::fs::write(dir.join("precious"), "x").unwrap();
        let error = meta().unwrap_err();
        assert!(error.message.contains("\"precious\"") && error.message.contains("not empty"), "{error}");
        assert!(of_mgmtd(&dir).is_err());
        assert!(of_mgmtd(Path::new("data")).unwrap_err().message.contains("begin with /"));
        assert!(of_mgmtd(Path::new("/a/../b")).is_err());
        std::fs::remove_file(dir.join("precious")).unwrap();
        drop(nyala_store::own_dir::OwnDir::open(&dir, Kind::MetaTarget, ClusterId([7; 16])).unwrap());
        assert_eq!(meta(), Ok(Found::Ours { registered: false }));
        assert!(of_kind(&dir, Kind::StorageTarget).unwrap_err().message.contains("kind"));
    }

    #[test]
    fn odd_file_systems_are_noted() {
        let note = file_system_note(Path::new("/proc/x")).unwrap().unwrap();
        assert!(note.contains("proc") && note.contains("XFS"), "{note}");
    }
}
