// SPDX-License-Identifier: Apache-2.0

//! Whose a chunk file is.

use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, Layout};

/// Where the layout of its file has a chunk file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There.
    At(DataLocation),
    /// There is no such file: what is left of it goes in the background, or is a leftover.
    Gone,
    /// The file has none with that index.
    Unknown,
}

impl Owner {
    /// By the layout of the file that it is of, which exists.
    pub fn by(layout: Option<&Layout>, file: ChunkFileId) -> Owner {
        let layout = layout.filter(|layout| layout.has(file.index));
        layout.map_or(Owner::Unknown, |layout| Owner::At(layout.location(file.index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{GroupId, InodeId, Pattern, TargetId};

    #[test]
    fn the_layout_says_whose_it_is() {
        let file = |index| ChunkFileId { inode: InodeId(7), index };
        let layout = |pattern| Layout {
            pattern,
            chunk_bytes: 1 << 20,
            targets: vec![TargetId(5), TargetId(6)],
            moves: 0,
            code: None,
        };
        let (striped, mirrored) = (layout(Pattern::Raid0), layout(Pattern::Mirror));
        assert_eq!(Owner::by(Some(&striped), file(1)), Owner::At(DataLocation::Target(TargetId(6))));
        assert_eq!(Owner::by(Some(&mirrored), file(0)), Owner::At(DataLocation::Group(GroupId(5))));
        assert_eq!(Owner::by(Some(&striped), file(2)), Owner::Unknown);
        assert_eq!(Owner::by(None, file(0)), Owner::Unknown, "a directory");
    }
}
