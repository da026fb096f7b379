// SPDX-License-Identifier: Apache-2.0

//! A file's data that was moved stays moved, and nothing is left where it was. Pure.
//!
//! A move that a client was told is done is on disk: the file's layout counts as many moves in the end, or more. When all is well, no chunk
//! file is left under the names of a layout that the file had before, and none lies where its layout has none, unless a move
//! did not end with success: its copy may be there (SEMANTICS, "`nyala entry migrate`").

use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, Layout, Pattern, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// The moves of one file's data.
#[derive(Default)]
struct File {
    /// Layouts that it had, by their count of moves: the first one, and those of moves that were acknowledged.
    had: BTreeMap<u32, Layout>,
    /// Moves that were begun and of which nobody was told that they are done.
    unfinished: u64,
    /// Its layout in the end; none: it is removed.
    last: Option<Layout>,
}

/// All of them.
#[derive(Default)]
pub struct DataMoves {
    /// This run has any.
    pub are_made: bool,
    /// Some of them encode it: then clients move it by themselves, too, whenever they write to it.
    pub are_coded: bool,
    files: BTreeMap<InodeId, File>,
}

/// A storage target: its id, whether it is in the mirror group, and its chunk files that are not empty, by the names that they have on
/// its disk.
pub struct ChunkFiles {
    pub target: TargetId,
    pub is_mirror: bool,
    pub names: BTreeSet<String>,
}

fn name(inode: InodeId, index: u16) -> String {
    let file = ChunkFileId { inode, index };
    format!("{}.{}", file.inode, file.index)
}

impl DataMoves {
    /// A move begins of a file that has this layout.
    pub fn begin(&mut self, inode: InodeId, layout: &Layout) {
        let file = self.files.entry(inode).or_default();
        file.unfinished += 1;
        // One that another client is moving to may be taken back by a power cut.
        if layout.moves == 0 {
            file.had.insert(0, layout.clone());
        }
    }

    /// One was refused before anything was copied.
    pub fn refused(&mut self, inode: InodeId) {
        self.files.entry(inode).or_default().unfinished -= 1;
    }

    /// One is done; what is wrong with that.
    pub fn done(&mut self, inode: InodeId, layout: Layout) -> Option<String> {
        let file = self.files.entry(inode).or_default();
        file.unfinished -= 1;
        let other = file.had.insert(layout.moves, layout.clone()).filter(|other| *other != layout)?;
        Some(format!("{inode} was moved to {layout:?} and to {other:?}"))
    }

    /// A new file, which may be written encoded from the start.
    pub fn is_new(&mut self, inode: InodeId, may_be_encoded: bool) {
        if may_be_encoded {
            self.files.entry(inode).or_default();
        }
    }

    /// Files whose data was moved, or may have been.
    pub fn files(&self) -> Vec<InodeId> {
        self.files.keys().copied().collect()
    }

    /// The layout of one in the end, if it is there; what is wrong with it.
    pub fn ends(&mut self, inode: InodeId, last: Option<Layout>) -> Option<String> {
        let file = self.files.entry(inode).or_default();
        file.last = last;
        let (last, (_, told)) = (file.last.as_ref()?, file.had.last_key_value()?);
        let same = told.moves == last.moves && told == last;
        let wrong = told.moves > last.moves || (told.moves == last.moves && !same);
        wrong.then(|| format!("{inode}: a client was told that its data is moved to {told:?}, it has {last:?}"))
    }

    /// Whether members of a mirror group are to have the same under this name; `None`: the file was never moved.
    pub fn is_mirrored(&self, name: &str) -> Option<bool> {
        let (inode, index) = name.split_once('.')?;
        let (_, file) = self.files.iter().find(|(known, _)| known.to_string() == inode)?;
        let has = |layout: &Layout| layout.pattern == Pattern::Mirror && index.parse().is_ok_and(|at| layout.has(at));
        Some(file.last.as_ref().is_some_and(has))
    }

    /// What is left at storage that should not be.
    pub fn judge(&self, there: &[ChunkFiles]) -> Option<String> {
        self.files.iter().find_map(|(inode, file)| {
            let left = |layout: &Layout| there.iter().find_map(|target| target.leftover(*inode, layout));
            let before = file.had.values().filter(|had| file.last.as_ref().is_none_or(|last| had.is_before(last)));
            let left = before.clone().find_map(left).map(|name| format!("{name} of a layout of before is left"));
            left.or_else(|| {
                let last = file.last.as_ref().filter(|_| file.unfinished == 0 && !self.are_coded)?;
                let stray = there.iter().find_map(|target| target.out_of_place(*inode, last))?;
                Some(format!("{stray} is there, every move has succeeded, and the layout is {last:?}"))
            })
        })
    }
}

impl ChunkFiles {
    fn is_at(&self, layout: &Layout, index: u16) -> bool {
        let id = layout.targets.get(layout.stripe(index) as usize);
        match layout.pattern {
            Pattern::Raid0 | Pattern::Ec => id == Some(&self.target),
            Pattern::Mirror => self.is_mirror,
        }
    }

    /// One that this layout has here.
    fn leftover(&self, inode: InodeId, layout: &Layout) -> Option<String> {
        let names = layout.indices().filter(|index| self.is_at(layout, *index)).map(|index| name(inode, index));
        let found = names.into_iter().find(|name| self.names.contains(name))?;
        Some(format!("{found} at target {}", self.target))
    }

    /// One of the file that this layout does not have here.
    fn out_of_place(&self, inode: InodeId, layout: &Layout) -> Option<String> {
        let of_it = format!("{inode}.");
        let expected = layout.indices().filter(|index| self.is_at(layout, *index)).map(|index| name(inode, index));
        let expected: BTreeSet<String> = expected.collect();
        let found = self.names.iter().find(|name| name.starts_with(&of_it) && !expected.contains(*name))?;
        Some(format!("{found} at target {}", self.target))
    }
}

#[cfg(test)]
mod tests;
