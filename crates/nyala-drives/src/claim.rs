// SPDX-License-Identifier: Apache-2.0

//! Whose a new drive is, before its set has written it down: several sets may have one spare, and whoever needs it first takes it. A file in its directory says who did.
//!
//! **Failure model.** Sets of one service, of several and of other hosts may want a directory at the same time: the file is linked to its name, which succeeds once. It is
//! durable before anything else is made there, so whatever a crash leaves has an owner. What an owner began and did not finish (no superblock was ever written) is removed by that
//! owner alone, the file last, and the directory counts as empty again; a crash in between leaves something that can be removed again. A file that
//! cannot be read is nobody's permission. What has a superblock, or strips, is never removed.

use nyala_raid::member::SetId;
use nyala_wire::checksum::crc32c;
use std::io;

/// The file's name, and that of what becomes it.
pub(crate) const NAME: &str = "claim";
const TEMPORARY: &str = "claim-";
/// More than any such file has, bytes.
pub(crate) const MAX_BYTES: u64 = 64;
/// Parts of a drive. Strips come first: without them there is no drive.
pub(crate) const OBJECTS: &str = "objects";
pub(crate) const TABLE: &str = "table";

/// A directory that may become a drive.
pub(crate) trait SpareDir {
    /// Names of what is in it.
    fn names(&self) -> io::Result<Vec<String>>;
    /// What a file has; none if it is missing. One that is larger than [`MAX_BYTES`], or no file, is an error of the kind `InvalidData`: anybody may have put it there.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Makes a file with this content, durably; it may be there.
    fn put(&self, name: &str, content: &[u8]) -> io::Result<()>;
    /// Gives a file a second name, which must not be there.
    fn link(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes a directory.
    fn make_dir(&self, name: &str) -> io::Result<()>;
    /// Removes a file, if it is there.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Removes an empty directory, if it is there.
    fn remove_dir(&self, name: &str) -> io::Result<()>;
    /// Removes all strips, and nothing else.
    fn remove_strips(&self) -> io::Result<()>;
    /// Removes a directory with what is in it, if it is there.
    fn remove_tree(&self, name: &str) -> io::Result<()>;
    /// Makes names durable.
    fn sync(&self) -> io::Result<()>;
    /// Whether strips of any object are there.
    fn has_strips(&self) -> io::Result<bool>;
    /// Whether a superblock was ever written to the table, which is there.
    fn has_superblock(&self) -> io::Result<bool>;
}

/// Why a directory is not given to a set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    #[error("another set has taken it")]
    Taken,
    #[error("it is not empty: a new drive needs an empty directory")]
    NotEmpty,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// As it is in the file: a line of text.
pub(crate) fn encode(set: SetId) -> Vec<u8> {
    let text = format!("{:032x}", set.0);
    format!("{text} {:08x}\n", crc32c(text.as_bytes())).into_bytes()
}

/// From there; none if it was never written so.
pub(crate) fn decode(bytes: &[u8]) -> Option<SetId> {
    let text = std::str::from_utf8(bytes).ok()?;
    let set = SetId(u128::from_str_radix(text.get(..32)?, 16).ok()?);
    (encode(set) == bytes).then_some(set)
}

/// Whether nothing is in a directory that has these names, but what a new file system may have, and claims that were not made.
pub(crate) fn is_free<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.all(|name| name == "lost+found" || name.starts_with(TEMPORARY))
}

/// Who has taken a directory.
pub(crate) fn owner(dir: &impl SpareDir) -> io::Result<Option<SetId>> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the file that says which set has taken it is damaged");
    dir.read(NAME)?.map(|bytes| decode(&bytes).ok_or_else(damaged)).transpose()
}

/// Takes an empty directory for a set, or what it began there before, and makes the parts of a drive.
pub(crate) fn take(dir: &impl SpareDir, set: SetId) -> Result<(), ClaimError> {
    match owner(dir)? {
        Some(other) if other != set => return Err(ClaimError::Taken),
        Some(_) if !release(dir, set)? => return Err(ClaimError::NotEmpty),
        Some(_) | None => {}
    }
    let names = dir.names()?;
    if !is_free(names.iter().map(String::as_str)) {
        return Err(ClaimError::NotEmpty);
    }
    let temporary = format!("{TEMPORARY}{:032x}", set.0);
    dir.put(&temporary, &encode(set))?;
    let linked = dir.link(&temporary, NAME);
    dir.remove(&temporary)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(ClaimError::Taken),
        linked => linked?,
    }
    dir.sync()?;
    dir.make_dir(OBJECTS)?;
    dir.sync()?;
    dir.make_dir(TABLE)?;
    Ok(dir.sync()?)
}

/// Gives back what a set took and never finished. False: it was finished, or is not this set's.
pub(crate) fn release(dir: &impl SpareDir, set: SetId) -> io::Result<bool> {
    if owner(dir)? != Some(set) {
        return Ok(false);
    }
    let names = dir.names()?;
    let has = |name: &str| names.iter().any(|there| there == name);
    if has(OBJECTS) && (dir.has_strips()? || (has(TABLE) && dir.has_superblock()?)) {
        return Ok(false);
    }
    dir.remove_dir(OBJECTS)?;
    dir.sync()?;
    dir.remove_tree(TABLE)?;
    dir.sync()?;
    dir.remove(NAME)?;
    dir.sync()?;
    Ok(true)
}

/// Whether a directory has only what was begun for a drive and never finished, and for which set, if it was claimed.
pub(crate) fn unfinished(dir: &impl SpareDir) -> io::Result<Option<Option<SetId>>> {
    let names = dir.names()?;
    let has = |name: &str| names.iter().any(|there| there == name);
    let parts = [OBJECTS, TABLE, NAME];
    let only_parts = is_free(names.iter().map(String::as_str).filter(|name| !parts.contains(name)));
    if !only_parts || (has(OBJECTS) && dir.has_strips()?) || (has(OBJECTS) && has(TABLE) && dir.has_superblock()?) {
        return Ok(None);
    }
    owner(dir).map(Some)
}

#[cfg(test)]
pub(crate) mod tests;
