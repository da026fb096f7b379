// SPDX-License-Identifier: Apache-2.0

//! What an operation does to the size of the tables: which ones a full target refuses. Pure. When it is full is
//! `nyala_store::SpaceRule`'s to say.
//!
//! Refused is what adds names, inodes and attributes, and content a little later: a client may have told its program that a file
//! is closed before it sends what is in the file, and the file was made while there was room. Everything else goes on: removals and truncations, which make
//! room; what a program needs to end in order, such as closing, commits of what storage has already, locks and sessions; and
//! changes that write over what is there.

use crate::keys;
use nyala_kv::Batch;
use nyala_kv::ChangeKind::{self, Completes, Grows, Maintains};
use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, MetaReply, PutInline};
use nyala_wire::meta_tx::TxPart;

/// What the parts of a transaction may do together.
pub fn of_parts(parts: &[TxPart]) -> ChangeKind {
    parts.iter().map(of_part).find(|kind| *kind == Grows).unwrap_or(Maintains)
}

/// What an operation may do, before anything is looked up. `inline_len`: bytes of inline content that an inode has now.
pub fn of_op(op: &MetaOp, inline_len: &dyn Fn(InodeId) -> usize) -> ChangeKind {
    let grows = |put: &PutInline| put.data.len() > inline_len(put.inode);
    match op {
        MetaOp::Create { .. }
        | MetaOp::Mkdir { .. }
        | MetaOp::Mknod { .. }
        | MetaOp::Symlink { .. }
        | MetaOp::Link { .. }
        | MetaOp::Tmpfile { .. }
        | MetaOp::SetXattr { .. }
        | MetaOp::SetPattern { .. } => Grows,
        MetaOp::Rename(rename) if !rename.exchange => Grows,
        MetaOp::PutInline(put) if grows(put) => Completes,
        MetaOp::PutInlines { puts } if puts.iter().any(grows) => Completes,
        _ => Maintains,
    }
}

/// What an operation that may grow ([`of_op`]) turned out to do, by its reply and what it changes. `is_there`: whether the tables have
/// a row of this key now.
pub fn of_outcome(op: &MetaOp, reply: &MetaReply, batch: &Batch, is_there: &dyn Fn(&[u8]) -> bool) -> ChangeKind {
    let mut names = batch.iter().filter(|(key, value)| key.first() == Some(&keys::ENTRY) && value.is_some());
    match (op, reply) {
        // The file was there, and is opened.
        (MetaOp::Create { .. }, MetaReply::Created { new: false, .. }) => Maintains,
        // It takes the place of another file.
        (MetaOp::Rename(_), _) if names.all(|(key, _)| is_there(key)) => Maintains,
        _ => Grows,
    }
}

/// What a part of an operation over several servers does to the server whose part it is.
pub fn of_part(part: &TxPart) -> ChangeKind {
    match part {
        TxPart::MakeDir { .. } | TxPart::PutEntry { replaces: None, .. } | TxPart::MakeFragment { .. } => Grows,
        TxPart::TakeEntries { entries, .. } if !entries.is_empty() => Grows,
        TxPart::SetAcl { value: Some(_), .. } | TxPart::SetPattern { .. } => Grows,
        TxPart::PutEntry { replaces: Some(_), .. }
        | TxPart::RemoveDir { .. }
        | TxPart::LinkCount { .. }
        | TxPart::SetParent { .. }
        | TxPart::PeekEntry { .. }
        | TxPart::RenameLock
        | TxPart::RemoveFragment { .. }
        | TxPart::GiveEntries { .. }
        | TxPart::TakeEntries { .. }
        | TxPart::SetFragments { .. }
        | TxPart::SetAttr { .. }
        | TxPart::SetAcl { .. }
        | TxPart::RemoveEntry { .. } => Maintains,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::meta::{NewEntry, Rename, SetAttr};
    use nyala_wire::{FileKind, Name, Time};

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).unwrap()
    }

    fn entry() -> NewEntry {
        NewEntry { parent: InodeId::ROOT, name: name("a"), perm: 0o644, umask: 0 }
    }

    fn rename(exchange: bool) -> MetaOp {
        let (from_parent, to_parent) = (InodeId::ROOT, InodeId::ROOT);
        let (from_name, to_name) = (name("a"), name("b"));
        MetaOp::Rename(Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange })
    }

    fn put(len: usize) -> PutInline {
        let data = vec![0; len].into();
        let (mtime, inode) = (Time::default(), InodeId::ROOT);
        PutInline { inode, base_version: 1, data, mtime, sync: false, close: false, size: None, set: None }
    }

    #[test]
    fn what_adds_is_refused_and_what_removes_or_ends_is_not() {
        let inode = InodeId::ROOT;
        let xattr = |value: &[u8]| MetaOp::SetXattr {
            inode,
            name: b"user.a".to_vec().into(),
            value: value.to_vec().into(),
            create: false,
            replace: false,
            kill_sgid: false,
        };
        let grow = [
            MetaOp::Create { entry: entry(), exclusive: false },
            MetaOp::Mkdir { entry: entry() },
            MetaOp::Mknod { entry: entry(), kind: FileKind::Fifo, rdev: 0, pattern: None },
            MetaOp::Symlink { entry: entry(), target: b"x".to_vec().into() },
            MetaOp::Link { inode, parent: inode, name: name("b") },
            MetaOp::Tmpfile { entry: entry() },
            xattr(b"value"),
            rename(false),
        ];
        let complete = [MetaOp::PutInline(put(11)), MetaOp::PutInlines { puts: vec![put(1), put(11)] }];
        let maintain = [
            MetaOp::Unlink { parent: inode, name: name("a") },
            MetaOp::Rmdir { parent: inode, name: name("a") },
            MetaOp::SetAttr { inode, set: SetAttr::default() },
            MetaOp::RemoveXattr { inode, name: b"user.a".to_vec().into() },
            MetaOp::Open { inode },
            MetaOp::Close { inode },
            MetaOp::SessionClose,
            rename(true),
            MetaOp::PutInline(put(10)),
            MetaOp::PutInlines { puts: vec![put(1), put(10)] },
        ];
        let inline_len = |_| 10;
        for op in grow {
            assert_eq!(of_op(&op, &inline_len), Grows, "{op:?}");
        }
        for op in complete {
            assert_eq!(of_op(&op, &inline_len), Completes, "{op:?}");
        }
        for op in maintain {
            assert_eq!(of_op(&op, &inline_len), Maintains, "{op:?}");
        }
    }

    #[test]
    fn opening_what_is_there_and_replacing_a_file_are_not_growth() {
        let create = MetaOp::Create { entry: entry(), exclusive: false };
        let created = |new| MetaReply::Created { new, inode: InodeId::ROOT, kind: FileKind::File, file: None };
        let (from, to) = (keys::entry(InodeId::ROOT, 256), keys::entry(InodeId::ROOT, 512));
        let mut batch = Batch::new();
        batch.put(&to, b"entry").delete(&from).put(keys::data(InodeId::ROOT), b"other rows do not count");
        let outcome = |op: &MetaOp, reply: &MetaReply, there: &[nyala_kv::Key]| {
            of_outcome(op, reply, &batch, &|key| there.iter().any(|one| **one == *key))
        };
        assert_eq!(outcome(&create, &created(true), &[]), Grows);
        assert_eq!(outcome(&create, &created(false), &[]), Maintains);
        assert_eq!(outcome(&rename(false), &MetaReply::Done, std::slice::from_ref(&from)), Grows);
        assert_eq!(outcome(&rename(false), &MetaReply::Done, &[from.clone(), to]), Maintains);
    }

    #[test]
    fn a_new_name_is_refused_where_the_name_is() {
        let (dir, inode) = (InodeId::ROOT, InodeId::ROOT);
        let entry = |replaces| TxPart::PutEntry { dir, name: name("a"), inode, kind: FileKind::File, replaces };
        assert_eq!(of_part(&entry(None)), Grows);
        assert_eq!(of_part(&entry(Some(inode))), Maintains);
        assert_eq!(of_part(&TxPart::RemoveEntry { dir, name: name("a"), inode }), Maintains);
        assert_eq!(of_part(&TxPart::LinkCount { inode, delta: -1 }), Maintains);
    }
}
