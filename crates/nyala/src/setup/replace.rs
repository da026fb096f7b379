// SPDX-License-Identifier: Apache-2.0

//! Replacing a file of the host as a whole.
//!
//! **Failure model.** A crash at any point leaves the old content or the new one, and at most a file `.NAME.nyala-new` beside it, which the
//! next time removes. A file that cannot be written (disk full, read-only) stays as it was.

use rustix::fs::{Gid, Uid};
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Replaces a file as a whole, as the one it was: where it links to, its mode, its owner.
pub fn replace_file(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let path = match std::fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        real => real?,
    };
    let old = match std::fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        old => Some(old?),
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".nyala-new");
    let temporary = dir.join(name);
    let written = write(&temporary, text, old.as_ref()).and_then(|()| std::fs::rename(&temporary, &path));
    if written.is_err() {
        // The error that is told is the first one.
        let _ = std::fs::remove_file(&temporary);
    }
    written?;
    File::open(dir)?.sync_all()
}

fn write(path: &Path, text: &[u8], old: Option<&Metadata>) -> std::io::Result<()> {
    // What an interrupted set-up left is no use; a link that somebody else put there is not followed.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    if let Some(old) = old {
        rustix::fs::fchown(&file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())))?;
    }
    let mode = old.map_or(0o644, |old| old.mode() & 0o7777);
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
