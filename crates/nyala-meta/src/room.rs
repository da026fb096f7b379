// SPDX-License-Identifier: Apache-2.0

//! What may still be done while a metadata target's disk is almost full. Pure.
//!
//! **Failure model.** Every change needs room in the log, removals too, and the checkpoint that turns them into free space needs room
//! for pages before it releases any. A disk that is filled to the last byte could not even be emptied. So the last part
//! of it, in bytes and in inodes of the file system, is for what takes nothing away for good: removals, truncations, moves of
//! names, sessions, locks and sizes. New names and attributes are refused first, content of files that are there
//! already at half of that, since its program may have been told that it is written. Space is looked at now and then and moves
//! meanwhile: a limit that was crossed holds until there is clearly more. Others may fill the disk all the same: then
//! the store refuses for itself (`StoreError::Full`).

use nyala_store::floor::Floor;
use nyala_wire::meta::MetaOp;
use nyala_wire::meta_tx::TxPart;
use nyala_wire::mgmt::Capacity;
use nyala_wire::{ErrorCode, WireError};

/// Kept free of new names: what the log can take between two looks, segments ahead of use included, and the files for that.
const NAMES: Floor = Floor { bytes: 256 << 20, inodes: 64, part: 8 };
/// Kept free of content.
const CONTENT: Floor = Floor { bytes: 128 << 20, inodes: 32, part: 16 };

/// Bytes of one segment of the log on a disk of this size: eight may wait for a checkpoint, and a small disk is not for those.
pub fn segment_bytes(total: u64) -> u64 {
    const LARGE: u64 = 64 << 20;
    if total == 0 { LARGE } else { (total / 64).clamp(1 << 20, LARGE) }
}

/// What an operation adds to the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adds {
    /// Nothing, or nothing that stays.
    Nothing,
    /// Content of a file that is there.
    Content,
    /// Names, inodes, attributes.
    Names,
}

impl Adds {
    /// What an operation adds.
    pub fn of(op: &MetaOp) -> Adds {
        match op {
            MetaOp::Create { .. } | MetaOp::Mkdir { .. } | MetaOp::Mknod { .. } | MetaOp::Symlink { .. } => Adds::Names,
            MetaOp::Link { .. } | MetaOp::Tmpfile { .. } | MetaOp::SetXattr { .. } => Adds::Names,
            MetaOp::PutInline(put) if !put.data.is_empty() => Adds::Content,
            MetaOp::PutInlines { puts } if puts.iter().any(|put| !put.data.is_empty()) => Adds::Content,
            _ => Adds::Nothing,
        }
    }

    /// What a part of a transaction adds here. An entry may be one that is moved: where it comes from, one goes.
    pub fn of_part(part: &TxPart) -> Adds {
        match part {
            TxPart::MakeDir { .. } => Adds::Names,
            TxPart::LinkCount { delta: 1.., .. } => Adds::Names,
            _ => Adds::Nothing,
        }
    }
}

/// How much room there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// For everything.
    #[default]
    Enough,
    /// Not for new names.
    Short,
    /// For nothing that stays.
    Reserved,
}

impl Room {
    /// What there is room for, with so much space left, after there was room for this.
    pub fn after(self, space: &Capacity) -> Room {
        match () {
            () if CONTENT.is_reached(space, self == Room::Reserved) => Room::Reserved,
            () if NAMES.is_reached(space, self != Room::Enough) => Room::Short,
            () => Room::Enough,
        }
    }

    /// Refuses what there is no room for, with a sentence that says what to do.
    pub fn check(self, adds: Adds) -> Result<(), WireError> {
        let most = match self {
            Room::Enough => Adds::Names,
            Room::Short => Adds::Content,
            Room::Reserved => Adds::Nothing,
        };
        match adds <= most {
            true => Ok(()),
            false => Err(ErrorCode::NO_SPACE.with(
                "the disk of the metadata target is almost full: what is left is kept for removals; remove files, or make room on it",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::meta::{NewEntry, PutInline};
    use nyala_wire::{InodeId, Name, Time};

    const MIB: u64 = 1 << 20;

    fn disk(total_mib: u64, free_mib: u64) -> Capacity {
        Capacity { total_bytes: total_mib * MIB, free_bytes: free_mib * MIB, total_inodes: 10_000, free_inodes: 9_000 }
    }

    fn create() -> MetaOp {
        let entry = NewEntry { parent: InodeId::ROOT, name: Name::new(b"n").unwrap(), perm: 0o644, umask: 0 };
        MetaOp::Create { entry, exclusive: true }
    }

    fn put(bytes: usize) -> MetaOp {
        MetaOp::PutInline(PutInline {
            inode: InodeId::ROOT,
            base_version: 0,
            data: vec![1; bytes].into(),
            mtime: Time::default(),
            sync: false,
            close: true,
            size: None,
        })
    }

    #[test]
    fn names_are_refused_first_and_removals_never() {
        let remove = MetaOp::Unlink { parent: InodeId::ROOT, name: Name::new(b"n").unwrap() };
        let may = |room: Room| [create(), put(5), put(0), remove.clone()].map(|op| room.check(Adds::of(&op)).is_ok());
        assert_eq!(may(Room::Enough), [true; 4]);
        assert_eq!(may(Room::Short), [false, true, true, true]);
        assert_eq!(may(Room::Reserved), [false, false, true, true]);
        assert_eq!(Room::Short.check(Adds::Names).unwrap_err().code, ErrorCode::NO_SPACE);
    }

    #[test]
    fn limits_follow_the_disk_and_are_higher_on_the_way_back() {
        let room = |before: Room, total, free| before.after(&disk(total, free));
        assert_eq!(room(Room::Enough, 1 << 20, 257), Room::Enough);
        assert_eq!(room(Room::Enough, 1 << 20, 255), Room::Short);
        assert_eq!(room(Room::Enough, 1 << 20, 127), Room::Reserved);
        assert_eq!(room(Room::Enough, 400, 51), Room::Enough, "an eighth of a small disk");
        assert_eq!(room(Room::Enough, 400, 49), Room::Short);
        assert_eq!(room(Room::Short, 1 << 20, 300), Room::Short);
        assert_eq!(room(Room::Short, 1 << 20, 321), Room::Enough);
        assert_eq!(room(Room::Reserved, 1 << 20, 150), Room::Reserved);
        assert_eq!(room(Room::Reserved, 1 << 20, 161), Room::Short);
        assert_eq!(room(Room::Reserved, 1 << 20, 400), Room::Enough);
    }

    #[test]
    fn inodes_of_the_file_system_count_where_it_has_a_number_of_them() {
        let inodes = |total_inodes, free_inodes| {
            Room::Enough.after(&Capacity { total_inodes, free_inodes, ..disk(1 << 20, 1 << 19) })
        };
        assert_eq!(inodes(10_000, 65), Room::Enough);
        assert_eq!(inodes(10_000, 63), Room::Short);
        assert_eq!(inodes(10_000, 31), Room::Reserved);
        assert_eq!(inodes(0, 0), Room::Enough, "btrfs");
        assert_eq!(Room::Reserved.after(&Capacity::default()), Room::Enough, "nothing is known");
    }
}
