// SPDX-License-Identifier: Apache-2.0

//! Which files and directories a request is about, for the list of the busiest. Failure model: none of its own.

use super::access::is_write;
use nyala_scrape::BusyNow;
use nyala_wire::InodeId;
use nyala_wire::meta::MetaOp;
use nyala_wire::named_inodes::named_inodes;

/// A client asks for something.
#[inline(always)]
pub fn asked(busy: &BusyNow, op: &MetaOp) {
    if let Some(sample) = busy.sample() {
        let (directories, changes) = (directories(op), is_write(op));
        inodes(op).into_iter().for_each(|inode| sample.inode(inode, changes));
        directories.into_iter().flatten().for_each(|dir| sample.directory(dir, changes));
    }
}

/// The directories that names are looked for, listed or changed in.
fn directories(op: &MetaOp) -> [Option<InodeId>; 2] {
    match op {
        MetaOp::Lookup { parent, .. }
        | MetaOp::Unlink { parent, .. }
        | MetaOp::Rmdir { parent, .. }
        | MetaOp::Link { parent, .. } => [Some(*parent), None],
        MetaOp::Create { entry, .. }
        | MetaOp::Mkdir { entry }
        | MetaOp::Mknod { entry, .. }
        | MetaOp::Symlink { entry, .. }
        | MetaOp::Tmpfile { entry } => [Some(entry.parent), None],
        MetaOp::Rename(rename) => {
            let to = Some(rename.to_parent).filter(|to| *to != rename.from_parent);
            [Some(rename.from_parent), to]
        }
        MetaOp::ReadDir { dir, .. } => [Some(*dir), None],
        _ => [None, None],
    }
}

/// Files and whatever else is named by its number. What clients do by themselves, without a program that asks, is of none.
fn inodes(op: &MetaOp) -> Vec<InodeId> {
    match op {
        MetaOp::DelegationPoll { .. } | MetaOp::DelegationReturn { .. } | MetaOp::Replay(_) | MetaOp::Repair(_) => {
            Vec::new()
        }
        MetaOp::Fragments(_) | MetaOp::MergeDir(_) => Vec::new(),
        MetaOp::Link { inode, .. } => vec![*inode],
        op if directories(op)[0].is_some() => Vec::new(),
        // Clients send nothing inside that cannot be decoded; what does counts for none.
        op => named_inodes(op).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::Name;
    use nyala_wire::meta::{NewEntry, Rename};

    #[test]
    fn names_count_for_their_directories_and_inodes_for_themselves() {
        let (dir, other, file) = (InodeId(2), InodeId(3), InodeId(9));
        let name = || Name::new(b"a").unwrap();
        let about = |op: MetaOp| {
            let dirs: Vec<InodeId> = directories(&op).into_iter().flatten().collect();
            (dirs, inodes(&op), is_write(&op))
        };
        let entry = NewEntry { parent: dir, name: name(), perm: 0o644, umask: 0 };
        let rename = |to| {
            let (from_name, to_name) = (name(), name());
            MetaOp::Rename(Rename {
                from_parent: dir,
                from_name,
                to_parent: to,
                to_name,
                no_replace: false,
                exchange: false,
            })
        };
        assert_eq!(about(MetaOp::Lookup { parent: dir, name: name() }), (vec![dir], vec![], false));
        assert_eq!(about(MetaOp::Create { entry, exclusive: true }), (vec![dir], vec![], true));
        assert_eq!(about(rename(other)), (vec![dir, other], vec![], true));
        assert_eq!(about(rename(dir)), (vec![dir], vec![], true));
        assert_eq!(about(MetaOp::Link { inode: file, parent: dir, name: name() }), (vec![dir], vec![file], true));
        assert_eq!(about(MetaOp::Open { inode: file }), (vec![], vec![file], false));
        assert_eq!(about(MetaOp::GetAttrs { inodes: vec![file, other] }), (vec![], vec![file, other], false));
        assert_eq!(about(MetaOp::DelegationReturn { delegations: vec![] }), (vec![], vec![], false));
        assert_eq!(about(MetaOp::StatFs), (vec![], vec![], false));
    }
}
