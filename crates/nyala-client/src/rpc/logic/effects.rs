// SPDX-License-Identifier: Apache-2.0

//! What an operation has changed, and whether a sync of it has to look for that.

use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, MetaReply, PutOutcome, SetAttr};

/// What a change was of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedPart {
    /// A file's content or size.
    Content,
    /// The same, all of it.
    Whole,
    /// A name or an attribute.
    Other,
}

/// What an operation that worked has changed.
pub fn changed<'a>(op: &'a MetaOp, reply: &'a MetaReply) -> impl Iterator<Item = (InodeId, ChangedPart)> + use<'a> {
    let only_size = |set: &SetAttr| *set == SetAttr { size: set.size, ..SetAttr::default() };
    let (part, other) = match op {
        MetaOp::PutInline(_) => (ChangedPart::Whole, None),
        MetaOp::Commit(_) => (ChangedPart::Content, None),
        MetaOp::SetAttr { set, .. } if only_size(set) => (ChangedPart::Content, None),
        MetaOp::Rename(rename) => (ChangedPart::Other, Some(rename.to_parent)),
        MetaOp::Link { inode, .. } => (ChangedPart::Other, Some(*inode)),
        _ => (ChangedPart::Other, None),
    };
    let made = match reply {
        MetaReply::Created { inode, .. } => Some(*inode),
        MetaReply::Entry(entry) => Some(entry.inode),
        _ => None,
    };
    let (puts, outcomes) = match (op, reply) {
        (MetaOp::PutInlines { puts }, MetaReply::Inlines(outcomes)) => (puts.as_slice(), outcomes.as_slice()),
        _ => (&[][..], &[][..]),
    };
    let taken = puts.iter().zip(outcomes).filter(|(_, outcome)| matches!(outcome, PutOutcome::Taken { .. }));
    let kept = !matches!(
        op,
        MetaOp::Sync
            | MetaOp::Open { .. }
            | MetaOp::Close { .. }
            | MetaOp::SetLock { .. }
            | MetaOp::Spill { .. }
            | MetaOp::PutInlines { .. }
    );
    let inode = op.routing_inode().filter(|_| kept);
    let one = inode.map(|inode| (inode, part));
    let others = [other, made].into_iter().flatten().map(|inode| (inode, ChangedPart::Other));
    one.into_iter().chain(others).chain(taken.map(|(put, _)| (put.inode, ChangedPart::Whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: InodeId = InodeId(11);
    const TWO: InodeId = InodeId(12);

    #[test]
    fn what_operations_change() {
        let of = |op: MetaOp, reply: MetaReply| changed(&op, &reply).collect::<Vec<_>>();
        let set = |set| MetaOp::SetAttr { inode: ONE, set };
        let size = SetAttr { size: Some(1), ..SetAttr::default() };
        assert_eq!(of(set(size.clone()), MetaReply::Done), [(ONE, ChangedPart::Content)]);
        assert_eq!(of(set(SetAttr { perm: Some(0o600), ..size }), MetaReply::Done), [(ONE, ChangedPart::Other)]);
        assert!(of(MetaOp::Sync, MetaReply::Done).is_empty());
        assert!(of(MetaOp::Close { inode: ONE }, MetaReply::Done).is_empty());
        let made = MetaReply::Created { new: true, inode: TWO, kind: nyala_wire::FileKind::File, file: None };
        let unlink = MetaOp::Unlink { parent: ONE, name: nyala_wire::Name::new(b"x").unwrap() };
        assert_eq!(of(unlink, made), [(ONE, ChangedPart::Other), (TWO, ChangedPart::Other)]);
    }
}
