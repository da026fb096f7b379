// SPDX-License-Identifier: Apache-2.0

//! What a name may hold after a power cut.

use std::collections::BTreeMap;

/// What happens to a file after it was synced, itself not synced unless it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// `unlink`.
    Unlink,
    /// `truncate` to a size below.
    Truncate(usize),
    /// Bytes written at the end, or behind it: a gap of so many, then so many bytes.
    Append {
        /// Bytes between the end and what is written.
        gap: usize,
        /// Bytes written.
        len: usize,
    },
    /// Bytes written over others, none beyond the end.
    Overwrite {
        /// Where, in bytes.
        at: usize,
        /// Bytes written.
        len: usize,
    },
    /// A hole is punched, or a range made zeros.
    Zero {
        /// Where, in bytes.
        at: usize,
        /// Bytes.
        len: usize,
        /// A hole, or a range made zeros.
        punch: bool,
    },
    /// Another synced file, with its name and `.new`, is renamed onto it.
    Replace,
    /// Renamed to its name and `.moved`.
    Move,
    /// Opened with `O_TRUNC` and written anew, so many bytes.
    Rewrite(usize),
    /// Made by the change: it was not there before. So many bytes.
    Create(usize),
    /// Bytes appended and synced: the new content is the only one.
    Sync(usize),
    /// Bytes appended, then synced by another client.
    SyncElsewhere(usize),
}

/// A file and what happens to it.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What was synced; nothing if it was not there.
    pub old: Option<Vec<u8>>,
    /// What happens to it.
    pub change: Change,
    /// Its content afterwards.
    pub new: Vec<u8>,
    /// Whether it stays open over the power cut.
    pub open: bool,
}

impl File {
    /// The changed file was synced: where it has a name, its new content is the only one.
    pub fn confirm(&mut self) {
        if !matches!(self.change, Change::None | Change::Unlink | Change::Replace | Change::Move) {
            self.change = Change::Sync(0);
        }
    }
}

/// What a mount shows: content or error number by name.
pub type Seen = BTreeMap<String, Result<Vec<u8>, i32>>;

/// What is wrong with what a mount shows of a file; nothing if it is what may be.
pub fn judge(file: &File, seen: &Seen) -> Option<String> {
    let old = file.old.as_deref();
    let at = |name: &str| match seen.get(name) {
        None => Ok(None),
        Some(Ok(content)) => Ok(Some(content.as_slice())),
        Some(Err(errno)) => Err(format!("{name} gives {}", std::io::Error::from_raw_os_error(*errno))),
    };
    let found = match at(&file.name) {
        Ok(found) => found,
        Err(why) => return wrong(file, &why),
    };
    let other = match file.change {
        Change::Replace => at(&format!("{}.new", file.name)),
        Change::Move => at(&format!("{}.moved", file.name)),
        _ => Ok(None),
    };
    let other = match other {
        Ok(other) => other,
        Err(why) => return wrong(file, &why),
    };
    let right = match file.change {
        Change::None => found == old,
        Change::Unlink => found.is_none() || found == old,
        Change::Truncate(_) => found == old || found == Some(&file.new),
        Change::Append { .. } => found.is_some_and(|found| is_grown(old.unwrap_or_default(), &file.new, found)),
        Change::Overwrite { .. } | Change::Zero { .. } => {
            found.is_some_and(|found| is_mixed(old.unwrap_or_default(), &file.new, found))
        }
        Change::Replace => (found == old && other == Some(&file.new)) || (found == Some(&file.new) && other.is_none()),
        Change::Move => (found == old && other.is_none()) || (found.is_none() && other == old),
        Change::Rewrite(_) => found == old || found.is_some_and(|found| is_grown(&[], &file.new, found)),
        Change::Create(_) => found.is_none_or(|found| is_grown(&[], &file.new, found)),
        Change::Sync(_) | Change::SyncElsewhere(_) => found == Some(&file.new),
    };
    if right { None } else { wrong(file, &describe(file, found, other)) }
}

fn wrong(file: &File, why: &str) -> Option<String> {
    Some(format!("{:?} of {} bytes: {why}", file.change, file.old.as_ref().map_or(0, Vec::len)))
}

/// What was synced, and then as much of the rest as there is: what was not written down yet reads as zeros.
fn is_grown(old: &[u8], new: &[u8], found: &[u8]) -> bool {
    let sized = (old.len()..=new.len()).contains(&found.len());
    let rest = |found: &[u8]| found.iter().zip(&new[old.len()..]).all(|(found, new)| found == new || *found == 0);
    sized && found.starts_with(old) && rest(&found[old.len()..])
}

/// The same size, and each byte from before or after.
fn is_mixed(old: &[u8], new: &[u8], found: &[u8]) -> bool {
    let either = |(found, (old, new))| found == old || found == new;
    found.len() == old.len() && found.iter().zip(old.iter().zip(new)).all(either)
}

/// Where what was found goes wrong.
fn describe(file: &File, found: Option<&[u8]>, other: Option<&[u8]>) -> String {
    let Some(found) = found else {
        return format!("{} is missing{}", file.name, if other.is_some() { ", its other name is there" } else { "" });
    };
    let old = file.old.as_deref().unwrap_or_default();
    let at = (0..found.len()).find(|at| found.get(*at) != old.get(*at) && found.get(*at) != file.new.get(*at));
    let what = match at {
        Some(at) if found[at..].iter().take(512).all(|byte| *byte == 0) => format!("zeros from byte {at} on"),
        Some(at) => format!("byte {at} is of neither"),
        None => "a mixture".to_owned(),
    };
    let beside = other.map_or(String::new(), |other| format!(", its other name holds {} bytes", other.len()));
    format!(
        "{} holds {} bytes (before {}, after {}), {what}{beside}",
        file.name,
        found.len(),
        old.len(),
        file.new.len()
    )
}
