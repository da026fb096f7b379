// SPDX-License-Identifier: Apache-2.0

//! Secret files on disk.
//!
//! **Failure model.** As of [`super`]. A power cut leaves the old file or the new one. Two who change a file at the same time: the
//! second is told, since it names what it has read ([`Existing::Replaced`]).

use super::error::{MAX_SECRET, SecretError};
use super::key_file::MAX_KEYS;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Longest secret file, bytes: room for as many keys as there may be.
const MAX_SECRET_FILE: usize = MAX_KEYS * 1024 + MAX_SECRET;

/// Tells one version of a file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    bytes: u64,
    mode: u32,
    owner: u32,
    changed: (i64, i64),
}

impl Stamp {
    /// Of the file that has this name now.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        std::fs::metadata(path).ok().map(|meta| Stamp::of_file(&meta))
    }

    fn of_file(meta: &std::fs::Metadata) -> Stamp {
        let changed = (meta.ctime(), meta.ctime_nsec());
        Stamp { inode: meta.ino(), bytes: meta.len(), mode: meta.mode(), owner: meta.uid(), changed }
    }
}

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Kept,
    /// It is replaced if it is still this one, keeps its owner, and otherwise stays.
    Replaced(Stamp),
}

fn io_error(path: &Path) -> impl Fn(std::io::Error) -> SecretError + '_ {
    move |error| SecretError::Io { path: path.to_owned(), reason: error.to_string() }
}

/// The bytes of a file whose owner and mode are in order. One that is too long is cut.
pub fn read(path: &Path) -> Result<(Vec<u8>, Stamp), SecretError> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(io_error(path))?;
    let meta = file.metadata().map_err(io_error(path))?;
    if !meta.is_file() {
        return Err(SecretError::Io { path: path.to_owned(), reason: "not a regular file".to_owned() });
    }
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Mode { path: path.to_owned(), mode });
    }
    if meta.uid() != 0 && meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(SecretError::Owner { path: path.to_owned(), uid: meta.uid() });
    }
    let mut bytes = Vec::new();
    file.take(MAX_SECRET_FILE as u64).read_to_end(&mut bytes).map_err(io_error(path))?;
    Ok((bytes, Stamp::of_file(&meta)))
}

/// Random bytes of the system.
pub fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| SecretError::NoRandomness(e.to_string()))?;
    Ok(bytes)
}

/// Writes a file of mode 0600, which appears whole or not at all.
pub fn write(path: &Path, text: &str, existing: Existing) -> Result<(), SecretError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unique: String = random::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let temporary = parent.join(format!(".nyala-secret-{unique}"));
    let written = write_whole(&temporary, text, path, existing);
    match std::fs::remove_file(&temporary) {
        // It was renamed, or never made.
        Err(error) if error.kind() == ErrorKind::NotFound => written.map_err(io_error(path))?,
        removed => written.and(removed).map_err(io_error(path))?,
    }
    File::open(parent).and_then(|dir| dir.sync_all()).map_err(io_error(path))
}

fn write_whole(temporary: &Path, text: &str, path: &Path, existing: Existing) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    file.write_all(text.as_bytes())?;
    if let Existing::Replaced(stamp) = existing
        && file.metadata()?.uid() != stamp.owner
    {
        std::os::unix::fs::fchown(&file, Some(stamp.owner), None)?;
    }
    file.sync_all()?;
    match existing {
        // A hard link, unlike a rename, fails where a file of that name exists.
        Existing::Kept => std::fs::hard_link(temporary, path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => std::io::Error::new(error.kind(), "exists already; it is not replaced"),
            _ => error,
        }),
        Existing::Replaced(stamp) if Stamp::of(path) == Some(stamp) => std::fs::rename(temporary, path),
        Existing::Replaced(_) => Err(std::io::Error::other("somebody else has changed it meanwhile; try again")),
    }
}
