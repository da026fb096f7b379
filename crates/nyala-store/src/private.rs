// SPDX-License-Identifier: Apache-2.0

//! Directories and files that only the service's own user can read: names and small files lie in them in clear.
//!
//! **Failure model.** A directory may have been made by an older build, an administrator or a package with wider
//! permissions: it is tightened when it is opened, and the log says so. One that cannot be tightened (it belongs to
//! another user) is an error. What was copied while it was open to others cannot be taken back.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a directory and its missing parents for this user alone, or tightens the one that is there.
/// Errors: those of the file system, also when the directory is open to others and belongs to another user.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)?;
    tighten(path)
}

/// Takes the rights of group and others from a directory and from the files directly in it.
/// Errors: those of the file system, also when something is open to others and belongs to another user.
pub fn tighten(dir: &Path) -> io::Result<()> {
    tighten_one(dir)?;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            tighten_one(&entry.path())?;
        }
    }
    Ok(())
}

fn tighten_one(path: &Path) -> io::Result<()> {
    let mode = std::fs::symlink_metadata(path)?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let private = mode & 0o700;
    std::fs::set_permissions(path, Permissions::from_mode(private))?;
    tracing::warn!(path = %path.display(), was = %format!("{mode:04o}"), now = %format!("{private:04o}"),
        "was open to other users: now it is private");
    Ok(())
}

/// What new files of a service are opened with: readable and writable by this user alone.
pub fn new_file() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create(true).mode(FILE_MODE);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_private_and_what_was_open_is_tightened() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("a/b");
        make_dir(&own).unwrap();
        drop(new_file().open(own.join("new")).unwrap());
        assert_eq!((mode(&own), mode(&own.join("new"))), (0o700, 0o600));
        std::fs::write(own.join("old"), "secret").unwrap();
        std::fs::set_permissions(own.join("old"), Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
        make_dir(&own).unwrap();
        assert_eq!((mode(&own), mode(&own.join("old"))), (0o700, 0o600));
    }
}
