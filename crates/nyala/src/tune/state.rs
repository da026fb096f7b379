// SPDX-License-Identifier: Apache-2.0

//! What files of the kernel said before they were changed.

use crate::exit::{Failure, io};
use crate::host::Root;
use nyala_tune::saved::Saved;
use rustix::fs::FlockOperation;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Where it is kept, and the directory that is locked while it is used.
const FILE: &str = "var/lib/nyala/tune.json";
/// What tells one boot of the kernel from another.
const BOOT: &str = "proc/sys/kernel/random/boot_id";
/// The right to change files and state; another program waits for it.
pub struct Locked(#[expect(dead_code, reason = "the lock is held as long as the directory is open")] File);

/// What is kept of this boot; nothing where there is no file, or one of an earlier boot.
pub fn load(root: &Root) -> Result<Saved, Failure> {
    let fresh = Saved::new(root.text(BOOT).unwrap_or_default().trim());
    let path = root.path(FILE);
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(fresh),
        text => text.map_err(io(path.display()))?,
    };
    let refused = |why: String| {
        Failure::failed(format!(
            "{}: {why}; look at it, and remove it if it says nothing that is wanted",
            path.display()
        ))
    };
    let saved: Saved = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    let saved = saved.checked().map_err(refused)?;
    Ok(if saved.boot() == fresh.boot() { saved } else { fresh })
}

/// Keeps it; an empty one is no file.
pub fn store(saved: &Saved, root: &Root) -> Result<(), Failure> {
    let path = root.path(FILE);
    if !saved.files.is_empty() {
        return crate::up::write_whole(&path, &crate::output::json(saved)?);
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path.display())(error)),
        _ => Ok(()),
    }
}

/// Waits until no other program changes anything.
pub fn lock(root: &Root) -> Result<Locked, Failure> {
    let path = root.path(FILE);
    let dir = path.parent().map(PathBuf::from).unwrap_or_default();
    let open = || {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let open = File::open(&dir)?;
        rustix::fs::flock(&open, FlockOperation::LockExclusive)?;
        Ok(open)
    };
    open().map(Locked).map_err(io(dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;

    #[test]
    fn state_is_kept_for_one_boot() {
        let host = Pretended::new();
        let mut saved = load(&host.root).unwrap();
        assert!(saved.files.is_empty());
        saved.remember("proc/a", "1", "2");
        drop(lock(&host.root).unwrap());
        store(&saved, &host.root).unwrap();
        assert_eq!(load(&host.root).unwrap(), saved);
        host.write("proc/sys/kernel/random/boot_id", "b2\n");
        assert!(load(&host.root).unwrap().files.is_empty(), "the kernel has its own values again");
        saved.files.clear();
        store(&saved, &host.root).unwrap();
        assert!(!host.at(FILE).exists());
        host.write(FILE, "{\"version\": 9, \"boot\": \"b2\", \"saved\": []}");
        assert!(load(&host.root).unwrap_err().message.contains("version is 9"));
        host.write(FILE, "{");
        assert!(load(&host.root).unwrap_err().message.contains("look at it"));
    }
}
