// SPDX-License-Identifier: Apache-2.0

//! Names of files that lie on a set, with their objects and lengths: one object of the set has the list, twice (`docs/format-raid.md`).
//!
//! **Failure model.** The list is written whole, in turns to one of two slots, so that a power cut or a death of the process in the middle of a write leaves the
//! one before. A slot is written over only when the list in the other one is durable. A list that is cut off or changed does not match its checksum; without any
//! that does the directory is refused, since an empty one would hide what was there. Removed files stay on the list until their content
//! is gone for good, which can be begun again.

use crate::error::SetError;
use crate::set::DriveSet;
use nyala_raid::ObjectId;
use std::collections::BTreeMap;

/// Bytes of each of the two slots.
pub(crate) const SLOT_BYTES: u64 = 256 << 10;
const MAGIC: [u8; 8] = *b"NYALADR1";
/// Magic, generation, number of the next object, bytes of the entries.
pub(crate) const HEAD_BYTES: usize = 28;

/// Objects of files, and of their list, which is number 0.
pub(crate) fn object(number: u64) -> ObjectId {
    ObjectId(1 << 120 | u128::from(number))
}

/// A file's place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub object: u64,
    pub bytes: u64,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub generation: u64,
    pub next_object: u64,
    pub files: BTreeMap<String, Entry>,
    /// Objects of removed files that may still have content.
    pub removed: Vec<u64>,
}

impl Listing {
    pub fn encode(&self) -> Vec<u8> {
        let mut entries = Vec::new();
        for (name, entry) in &self.files {
            // Longer ones are refused before they come here.
            entries.push(name.len() as u8);
            entries.extend_from_slice(name.as_bytes());
            entries.extend_from_slice(&entry.object.to_le_bytes());
            entries.extend_from_slice(&entry.bytes.to_le_bytes());
        }
        for object in &self.removed {
            entries.push(0);
            entries.extend_from_slice(&object.to_le_bytes());
        }
        let mut out = Vec::with_capacity(HEAD_BYTES + entries.len() + 4);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.next_object.to_le_bytes());
        out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&entries);
        out.extend_from_slice(&nyala_wire::checksum::crc32c(&out).to_le_bytes());
        out
    }

    /// From a slot; `None` if there is no whole list.
    pub fn decode(bytes: &[u8]) -> Option<Listing> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
        if head[..8] != MAGIC {
            return None;
        }
        let length = u32::from_le_bytes(head.get(24..28)?.try_into().ok()?) as usize;
        let (mut entries, rest) = rest.split_at_checked(length)?;
        let crc = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?);
        if nyala_wire::checksum::crc32c(&bytes[..HEAD_BYTES + length]) != crc {
            return None;
        }
        let mut list = Listing { generation: number(8)?, next_object: number(16)?, ..Listing::default() };
        while let Some((len, rest)) = entries.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(*len))?;
            let (object, rest) = rest.split_first_chunk::<8>()?;
            let object = u64::from_le_bytes(*object);
            entries = rest;
            if name.is_empty() {
                list.removed.push(object);
                continue;
            }
            let (bytes, rest) = entries.split_first_chunk::<8>()?;
            entries = rest;
            let name = String::from_utf8(name.to_vec()).ok()?;
            list.files.insert(name, Entry { object, bytes: u64::from_le_bytes(*bytes) });
        }
        Some(list)
    }
}

/// Where a list with this generation lies.
fn slot_offset(generation: u64) -> u64 {
    generation % 2 * SLOT_BYTES
}

/// The newest list of a set; a new one makes its first, durably.
pub(crate) fn load(set: &DriveSet, new: bool) -> Result<Listing, SetError> {
    let bytes = |number: u64| set.read(object(0), slot_offset(number)..slot_offset(number) + SLOT_BYTES);
    let found = [bytes(0)?, bytes(1)?].into_iter().filter_map(|bytes| Listing::decode(&bytes));
    match found.max_by_key(|list| list.generation) {
        Some(list) => Ok(list),
        None if new => {
            let list = Listing { generation: 1, next_object: 1, ..Listing::default() };
            store(set, &list)?;
            set.sync()?;
            Ok(list)
        }
        None => Err(SetError::NoDirectory),
    }
}

/// Writes a list; the one before must be durable.
pub(crate) fn store(set: &DriveSet, list: &Listing) -> Result<(), SetError> {
    let bytes = list.encode();
    if bytes.len() as u64 > SLOT_BYTES {
        return Err(SetError::TooManyFiles);
    }
    set.write(object(0), slot_offset(list.generation), &bytes)
}

#[cfg(test)]
mod tests;
