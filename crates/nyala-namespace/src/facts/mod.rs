// SPDX-License-Identifier: Apache-2.0

//! What rows of the tables say, for a check of the whole file system (`nyala_wire::check`).
//!
//! Pure: the tables are only read, and a page is bounded in rows and in the bytes of its facts. A row that cannot be read is a fact
//! as well. What two rows of one server say of each other (a lock and its session) is compared here, since only here both are
//! seen at one moment.

pub mod compare;
mod decode;
mod last_directory;
mod rows;

pub use decode::entry_dir;

use crate::keys;
use crate::records::EntryRecord;
use crate::slot_rows::slots_with_rows;
use crate::view::View;
use nyala_wire::check::{Fact, MAX_SCAN_INODES, MAX_SCAN_ROWS, ServerFact};
use nyala_wire::{ErrorCode, FileKind, InodeId, Slot, WireError, codec};
use rows::facts;
use std::ops::ControlFlow;

/// A page ends behind so many bytes of keys and values that were looked at.
const PAGE_BYTES: usize = 256 << 10;
/// What is counted of a value: the rest is content, which no fact has.
const COUNTED_BYTES: usize = 1024;

/// A page of facts, and the key with which the next one begins.
pub type Page = (Vec<Fact>, Option<Vec<u8>>);

/// Of which slots rows say something: not of those that are on their way.
pub type SlotFilter<'a> = &'a dyn Fn(Slot) -> bool;

/// The facts of at most `most` rows from a key on. `inodes`: only records of inodes, else only everything else.
pub fn page(view: &dyn View, served: SlotFilter, inodes: bool, from: &[u8], most: u32) -> Result<Page, WireError> {
    if most == 0 || most > MAX_SCAN_ROWS {
        return Err(ErrorCode::BAD_MESSAGE.with("a page has 1 to 4096 rows"));
    }
    let parts: &[(u8, u8)] =
        if inodes { &[(keys::INODE, keys::INODE + 1)] } else { &[(0, keys::INODE), (keys::INODE + 1, u8::MAX)] };
    let mut budget = PageBudget { rows: most as usize, bytes: PAGE_BYTES };
    let (mut rows, mut next) = (Vec::new(), None);
    for (first, end) in parts {
        if next.is_some() || from >= &[*end][..] {
            continue;
        }
        let first = [*first];
        view.scan(from.max(&first), &[*end], &mut |key, value| {
            if !budget.take(key, value) {
                next = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            if keys::parse_slot(key).is_none_or(served) {
                rows.push((key.to_vec(), value[..value.len().min(most_of(key))].to_vec(), value.len()));
            }
            ControlFlow::Continue(())
        })?;
    }
    let mut found = facts(view, &rows)?;
    let is_count = |fact: &Fact| matches!(fact, Fact::Server(ServerFact::Count { .. }));
    if found.iter().any(is_count) && !slots_with_rows(view)?.into_iter().all(served) {
        // It counts what is left of slots that were given away.
        found.retain(|fact| !is_count(fact));
    }
    Ok((found, next))
}

/// All that the tables say of some inodes, at one moment, but for the names that they have.
pub fn of_inodes(view: &dyn View, inodes: &[InodeId]) -> Result<Vec<Fact>, WireError> {
    if inodes.len() > MAX_SCAN_INODES {
        return Err(ErrorCode::BAD_MESSAGE.with("at most 256 inodes can be asked about at once"));
    }
    let mut found = Vec::new();
    for &inode in inodes {
        found.extend(listed(view, inode, &keys::entries_prefix(inode))?);
        let ranges = [keys::xattr(inode, b""), keys::open_prefix(inode)];
        let single = [keys::inode(inode), keys::data(inode), keys::garbage(inode), keys::truncate(inode)];
        let mut rows = Vec::new();
        for range in ranges.iter().chain(&single).chain([&keys::file_locks(inode)]) {
            view.scan(range, &keys::prefix_end(range), &mut |key, value| {
                rows.push((key.to_vec(), value[..value.len().min(most_of(key))].to_vec(), value.len()));
                ControlFlow::Continue(())
            })?;
        }
        found.extend(facts(view, &rows)?);
    }
    Ok(found)
}

/// Whether a row is one that cannot be read.
pub fn is_unreadable(view: &dyn View, key: &[u8], value: &[u8]) -> Result<bool, WireError> {
    let row = (key.to_vec(), value[..value.len().min(most_of(key))].to_vec(), value.len());
    let said = facts(view, &[row])?;
    Ok(said.iter().any(|fact| matches!(fact, Fact::Server(ServerFact::Unreadable { .. }))))
}

/// Counts the names in a directory without keeping them; nothing if there is none.
fn listed(view: &dyn View, dir: InodeId, prefix: &[u8]) -> Result<Option<Fact>, WireError> {
    let (mut entries, mut subdirs, mut any) = (0, 0, false);
    view.scan(prefix, &keys::prefix_end(prefix), &mut |_, value| {
        any = true;
        if let Ok(entry) = codec::decode::<EntryRecord>(value)
            && entry.is_taken()
        {
            entries += 1;
            subdirs += u64::from(entry.kind == FileKind::Directory);
        }
        ControlFlow::Continue(())
    })?;
    Ok(any.then_some(Fact::Listed { dir, entries, subdirs }))
}

/// How much more may be looked at.
struct PageBudget {
    rows: usize,
    bytes: usize,
}

impl PageBudget {
    /// Whether there is room for one more; a first one always has it.
    fn take(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.rows == 0 || self.bytes == 0 {
            return false;
        }
        self.rows -= 1;
        self.bytes = self.bytes.saturating_sub(key.len() + value.len().min(COUNTED_BYTES));
        true
    }
}

/// What is kept of a row's value: content and attributes only have a length here.
fn most_of(key: &[u8]) -> usize {
    match key.first() {
        Some(&(keys::DATA | keys::XATTR | keys::REPLY | keys::PREPARED)) => 0,
        _ => usize::MAX,
    }
}
