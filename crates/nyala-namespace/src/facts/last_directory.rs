// SPDX-License-Identifier: Apache-2.0

//! Of which directory the entries of an inode are: its own, or of one of which it is a fragment.

use super::compare::is_misplaced;
use crate::keys;
use crate::records::{EntryRecord, InodeRecord};
use crate::view::View;
use nyala_wire::check::Fact;
use nyala_wire::{InodeId, WireError, codec};

/// The answer to the last question: entries of one inode lie one behind the other.
#[derive(Default)]
pub struct LastDirectory(Option<(InodeId, Option<InodeId>)>);

impl LastDirectory {
    /// A name in it.
    pub fn name(&mut self, view: &dyn View, dir: InodeId, cookie: u64, entry: EntryRecord) -> Result<Fact, WireError> {
        let of = self.of(view, dir)?;
        let misplaced = is_misplaced(view, (dir, of), cookie, &entry)?;
        let (EntryRecord { inode, kind, .. }, of) = (entry, of.filter(|of| *of != dir));
        Ok(Fact::Name { inode, dir, cookie, kind, misplaced, of })
    }

    /// The directory; none if the inode's record is not there or cannot be read.
    fn of(&mut self, view: &dyn View, inode: InodeId) -> Result<Option<InodeId>, WireError> {
        if let Some((known, of)) = self.0
            && known == inode
        {
            return Ok(of);
        }
        let row = view.get(&keys::inode(inode))?;
        let record = row.and_then(|row| codec::decode::<InodeRecord>(&row).ok());
        let of = record.and_then(|record| record.dir).map(|part| part.directory(inode));
        self.0 = Some((inode, of));
        Ok(of)
    }
}
