// SPDX-License-Identifier: Apache-2.0

//! Whom a request of the fake has to wait for, and what its reply grants.

use super::*;

impl Meta {
    /// Others' delegations that a request has to wait for; `false` if there are some.
    pub(super) fn clear(&mut self, request: &MetaRequest) -> bool {
        let session = request.session;
        let named =
            |meta: &Meta, dir: &InodeId, name: &Name| Some(meta.inodes.get(dir)?.entries.get(name.as_bytes())?.0);
        let (need, inodes): (Need, Vec<Option<InodeId>>) = match &request.op {
            MetaOp::Lookup { parent, name } => (Need::Read, vec![named(self, parent, name)]),
            MetaOp::GetAttr { inode } | MetaOp::FileInfo { inode } | MetaOp::Open { inode } => {
                (Need::Read, vec![Some(*inode)])
            }
            MetaOp::GetAttrs { inodes } => (Need::Read, inodes.iter().copied().map(Some).collect()),
            MetaOp::Acquire { inode } => {
                let mode = self.delegations.best(*inode, session, request.want);
                (Need::Delegation(mode), vec![Some(*inode)])
            }
            MetaOp::Create { entry, .. } => {
                let there = named(self, &entry.parent, &entry.name);
                if there.is_some_and(|inode| !self.delegations.clear(inode, session, Need::Read)) {
                    return false;
                }
                (Need::Change, vec![there.is_none().then_some(entry.parent)])
            }
            MetaOp::Mkdir { entry } | MetaOp::Mknod { entry, .. } | MetaOp::Symlink { entry, .. } => {
                (Need::Change, vec![Some(entry.parent)])
            }
            MetaOp::Unlink { parent, name } | MetaOp::Rmdir { parent, name } => {
                (Need::Change, vec![Some(*parent), named(self, parent, name)])
            }
            MetaOp::Link { inode, parent, .. } => (Need::Change, vec![Some(*parent), Some(*inode)]),
            MetaOp::Rename(r) => {
                let (from, to) = (named(self, &r.from_parent, &r.from_name), named(self, &r.to_parent, &r.to_name));
                (Need::Change, vec![Some(r.from_parent), Some(r.to_parent), from, to])
            }
            MetaOp::SetAttr { inode, .. } | MetaOp::SetXattr { inode, .. } | MetaOp::RemoveXattr { inode, .. } => {
                (Need::Change, vec![Some(*inode)])
            }
            MetaOp::Commit(Commit { inode, end, mtime, spilled, allocated, .. }) => {
                let changes = end.is_some() || mtime.is_some() || spilled.is_some() || allocated.is_some();
                (Need::Change, vec![changes.then_some(*inode)])
            }
            MetaOp::PutInline(put) => (Need::Change, vec![Some(put.inode)]),
            // Each for itself.
            MetaOp::PutInlines { .. } => return true,
            _ => return true,
        };
        let (delegations, pinned) = (&mut self.delegations, request.want.has(Want::PINNED));
        let mut waits =
            inodes.into_iter().flatten().filter(|inode| !delegations.clear(*inode, session, need)).collect::<Vec<_>>();
        if pinned {
            waits.retain(|inode| !delegations.passes(*inode, session));
        }
        waits.is_empty()
    }

    /// What a reply grants.
    pub(super) fn grants(&mut self, request: &MetaRequest, reply: &mut MetaReply) -> Grants {
        if !request.want.has(Want::DELEGATIONS) {
            return Grants::default();
        }
        self.delegations.seq += 1;
        let (session, seq) = (request.session, self.delegations.seq);
        let mut grants = Grants { seq, ..Grants::default() };
        if let MetaOp::Lookup { parent: dir, .. } | MetaOp::ReadDir { dir, .. } = &request.op {
            grants.dir = self.delegations.give(*dir, session, DelegationMode::Shared) != DelegationMode::None;
        }
        let mut shared = |inode| self.delegations.give(inode, session, DelegationMode::Shared) != DelegationMode::None;
        grants.inodes = match reply {
            MetaReply::Entry(EntryReply { attr: Some(attr), .. }) | MetaReply::Attr(attr) if shared(attr.inode) => {
                DelegationMode::Shared
            }
            MetaReply::Attrs(attrs) if attrs.iter().filter(|attr| !shared(attr.inode)).count() == 0 => {
                DelegationMode::Shared
            }
            MetaReply::Listing(listing) => {
                for entry in &mut listing.entries {
                    entry.attr = entry.attr.take().filter(|attr| shared(attr.inode));
                }
                DelegationMode::Shared
            }
            MetaReply::Opened(file) => {
                let mode = self.delegations.best(file.attr.inode, session, request.want);
                self.delegations.give(file.attr.inode, session, mode)
            }
            MetaReply::Created { new: true, inode, .. } => {
                self.delegations.give(*inode, session, DelegationMode::Exclusive)
            }
            _ => DelegationMode::None,
        };
        grants
    }

    /// A new file that is open under its delegation is not noted as open.
    pub(super) fn note_unsaid(
        &mut self,
        request: &MetaRequest,
        reply: &MetaReply,
        grants: Grants,
    ) -> Result<(), WireError> {
        let MetaReply::Created { new: true, inode, .. } = reply else { return Ok(()) };
        if matches!(request.op, MetaOp::Create { .. }) && request.want.has(Want::UNSAID) {
            let holders = &mut self.inode(*inode)?.holders;
            match grants.inodes {
                DelegationMode::Exclusive => holders.remove(&request.session),
                _ => holders.insert(request.session),
            };
        }
        Ok(())
    }
}
