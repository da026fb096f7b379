// SPDX-License-Identifier: Apache-2.0

//! A drive goes with its set: what the set made in its directory is removed, and only that. A file in the directory says which set it was.
//!
//! **Failure model.** The process or the machine may die at any change. The file is durable before anything is removed, and removed when everything else is gone for good: a drive is
//! either whole, or nobody's but the deletion's, which can be begun again. A drive with that file is opened by nobody, so a set never runs on half of what it had, and no other
//! set takes the directory meanwhile. Whoever has the drive open keeps it: its table is locked. What others have put into the directory stays; where it lies among strips, the deletion says so and
//! does not end before it is gone.

use crate::claim::{self, OBJECTS, SpareDir, TABLE};
use nyala_raid::member::SetId;
use std::io;

/// The file's name, and that of what becomes it.
pub(crate) const NAME: &str = "deleted";
const TEMPORARY: &str = "deleted-";
/// What a target on the set has beside the drive (`docs/format-raid.md`).
pub(crate) const TARGET: &str = "target";

/// Whose drive is being deleted in a directory; none if none is.
pub(crate) fn of(dir: &impl SpareDir) -> io::Result<Option<SetId>> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the file that says which set is deleted is damaged");
    dir.read(NAME)?.map(|bytes| claim::decode(&bytes).ok_or_else(damaged)).transpose()
}

fn temporary(set: SetId) -> String {
    format!("{TEMPORARY}{:032x}", set.0)
}

fn other_set() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it is another set's")
}

/// Says durably that the drive of a set goes. The caller has it open, or has seen that it never was one.
pub(crate) fn begin(dir: &impl SpareDir, set: SetId) -> io::Result<()> {
    match of(dir)? {
        Some(other) if other != set => return Err(other_set()),
        Some(_) => return Ok(()),
        None => {}
    }
    if claim::owner(dir)?.is_some_and(|owner| owner != set) {
        return Err(other_set());
    }
    let temporary = temporary(set);
    dir.put(&temporary, &claim::encode(set))?;
    dir.link(&temporary, NAME)?;
    dir.remove(&temporary)?;
    dir.sync()
}

/// Removes what the set had there, the file last.
pub(crate) fn finish(dir: &impl SpareDir, set: SetId) -> io::Result<()> {
    if of(dir)? != Some(set) {
        return Err(other_set());
    }
    dir.remove_strips()?;
    dir.remove_dir(OBJECTS)?;
    dir.remove_tree(TARGET)?;
    dir.remove_tree(TABLE)?;
    if claim::owner(dir)? == Some(set) {
        dir.remove(claim::NAME)?;
    }
    dir.remove(&temporary(set))?;
    dir.sync()?;
    dir.remove(NAME)?;
    dir.sync()
}

#[cfg(test)]
mod tests;
