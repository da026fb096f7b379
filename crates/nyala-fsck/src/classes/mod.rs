// SPDX-License-Identifier: Apache-2.0

//! The classes of findings: one per file, each with an id, what it means, and what `nyala fsck --repair` does about it.
//!
//! A class looks at one inode with all that is known of it, or at what servers say beside inodes, or at mirrors that differ. A new one is a file here and a line
//! in [`CLASSES`]; operating.md has the list for people, and a test compares the two.

mod chunk_beside_inline;
mod chunk_excess;
mod chunk_lost;
mod chunk_missing;
mod chunk_orphan;
mod chunk_unexpected;
mod class;
mod committed_stuck;
mod content_lost;
mod content_stray;
mod directory_count;
mod directory_loop;
mod directory_names;
mod directory_parent;
mod fragment_missing;
mod fragment_stray;
mod garbage_of_living;
mod inode_count;
mod inode_orphan;
mod inode_unlinked;
mod link_count;
mod lock_stray;
mod mirror_chunk;
mod mirror_tables;
mod name_dangling;
mod name_kind;
mod name_misplaced;
mod names_without_directory;
mod open_stray;
mod part_lost;
mod prepared_stuck;
mod replies_stray;
mod row_foreign;
mod row_unreadable;
mod slot_sequence;
mod target_missing;
mod xattr_count;

pub use class::Class;

/// All classes, in the order of the manual.
pub const CLASSES: &[&dyn Class] = &[
    &name_dangling::NameDangling,
    &name_kind::NameKind,
    &name_misplaced::NameMisplaced,
    &names_without_directory::NamesWithoutDirectory,
    &directory_count::DirectoryCount,
    &directory_parent::DirectoryParent,
    &directory_names::DirectoryNames,
    &directory_loop::DirectoryLoop,
    &fragment_missing::FragmentMissing,
    &fragment_stray::FragmentStray,
    &link_count::LinkCount,
    &inode_orphan::InodeOrphan,
    &inode_unlinked::InodeUnlinked,
    &inode_count::InodeCount,
    &content_stray::ContentStray,
    &content_lost::ContentLost,
    &xattr_count::XattrCount,
    &open_stray::OpenStray,
    &lock_stray::LockStray,
    &replies_stray::RepliesStray,
    &garbage_of_living::GarbageOfLiving,
    &prepared_stuck::PreparedStuck,
    &committed_stuck::CommittedStuck,
    &slot_sequence::SlotSequence,
    &row_foreign::RowForeign,
    &row_unreadable::RowUnreadable,
    &target_missing::TargetMissing,
    &chunk_lost::ChunkLost,
    &chunk_orphan::ChunkOrphan,
    &chunk_beside_inline::ChunkBesideInline,
    &chunk_unexpected::ChunkUnexpected,
    &chunk_excess::ChunkExcess,
    &chunk_missing::ChunkMissing,
    &part_lost::PartLost,
    &mirror_tables::MirrorTables,
    &mirror_chunk::MirrorChunk,
];

/// The class with an id.
pub fn of(id: &str) -> Option<&'static dyn Class> {
    CLASSES.iter().copied().find(|class| class.id() == id)
}
