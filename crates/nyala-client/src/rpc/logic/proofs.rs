// SPDX-License-Identifier: Apache-2.0

//! What a client that must not leave a directory knows of it: which one that is, and a proof of every inode that servers found below it. Clients
//! that are held to no directory keep nothing here, and pay a look at a flag.
//!
//! **Failure model.** Servers decide, by what is shown to them; what is kept here only saves the way along the names. A proof that servers do not take
//! any more (the keys of servers were changed meanwhile) is replaced when the name is looked up again. A proof is kept as long as this client
//! lives, about 40 bytes for each inode that it was told of: programs may name an inode at any time.

use super::grants::StorageGrants;
use bytes::Bytes;
use nyala_wire::InodeId;
use nyala_wire::codec::{decode, encode};
use nyala_wire::meta::MetaOp;
use nyala_wire::named_inodes::named_inodes;
use nyala_wire::subtree_proofs::{InodeProof, MAX_PROOFS, Proven};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What servers proved to this client.
#[derive(Default)]
pub(crate) struct Proofs {
    /// The directory; 0: none is known.
    root: AtomicU64,
    /// It is known whether there is one.
    asked: AtomicBool,
    known: RwLock<HashMap<InodeId, [u8; 16]>>,
    /// What it was granted at storage.
    pub(crate) grants: StorageGrants,
}

impl Proofs {
    /// What this client has for a root: the directory that it must not leave, or the file system's root.
    pub(crate) fn root(&self) -> InodeId {
        match self.root.load(Ordering::Acquire) {
            0 => InodeId::ROOT,
            root => InodeId(root),
        }
    }

    /// Whether this client is held to a directory.
    fn is_held(&self) -> bool {
        self.root.load(Ordering::Acquire) != 0
    }

    /// Whether it is known if there is a root of its own.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// It is known now.
    pub(crate) fn asked(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// The inode that is meant, where the root is called by the number that the file system's has.
    pub(crate) fn meant(&self, inode: InodeId) -> InodeId {
        if inode == InodeId::ROOT { self.root() } else { inode }
    }

    /// What an inode is called above: the other way round.
    pub(crate) fn called(&self, inode: InodeId) -> InodeId {
        if self.is_held() && inode == self.root() { InodeId::ROOT } else { inode }
    }

    /// Takes what came with a reply.
    pub(crate) fn learn(&self, payload: &[u8]) {
        if payload.is_empty() {
            return;
        }
        let Ok(Proven { root, proofs }) = decode::<Proven>(payload) else {
            tracing::warn!("a metadata server sent something beside its reply that this build cannot read");
            return;
        };
        // The first one stays: inodes that programs hold are below it.
        if !self.is_asked() {
            // why ignored: another reply was first, and said the same.
            let _ = self.root.compare_exchange(0, root.0, Ordering::AcqRel, Ordering::Acquire);
        }
        if !proofs.is_empty() {
            self.known.write().extend(proofs.into_iter().map(|shown| (shown.inode, shown.proof.into())));
        }
    }

    /// Proofs of these inodes, as far as there are.
    pub(crate) fn of(&self, inodes: impl IntoIterator<Item = InodeId>) -> Vec<InodeProof> {
        let known = self.known.read();
        let proof = |inode| known.get(&inode).map(|proof| InodeProof { inode, proof: (*proof).into() });
        inodes.into_iter().filter_map(proof).take(MAX_PROOFS).collect()
    }

    /// What goes with a request: proofs of what it names.
    pub(crate) fn shown(&self, op: &MetaOp) -> Option<Bytes> {
        if !self.is_held() {
            return None;
        }
        // A request that this client made itself can be read.
        let mut named = named_inodes(op).unwrap_or_default();
        named.sort_unstable();
        named.dedup();
        let proofs = self.of(named);
        (!proofs.is_empty()).then(|| encode(&proofs).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_proven_is_shown_and_the_root_has_two_names() {
        let proofs = Proofs::default();
        let op = MetaOp::GetAttr { inode: InodeId(70) };
        let proven =
            Proven { root: InodeId(900), proofs: vec![InodeProof { inode: InodeId(70), proof: [1; 16].into() }] };
        assert_eq!((proofs.shown(&op), proofs.meant(InodeId::ROOT)), (None, InodeId::ROOT));
        proofs.learn(&[]);
        proofs.learn(&encode(&proven));
        assert_eq!(proofs.shown(&op), Some(encode(&proven.proofs).into()));
        assert_eq!(proofs.shown(&MetaOp::GetAttr { inode: InodeId(71) }), None);
        assert_eq!(proofs.meant(InodeId::ROOT), InodeId(900));
        assert_eq!((proofs.called(InodeId(900)), proofs.called(InodeId(70))), (InodeId::ROOT, InodeId(70)));
        proofs.asked();
        proofs.learn(&encode(&Proven { root: InodeId(901), proofs: Vec::new() }));
        assert_eq!(proofs.root(), InodeId(900), "a mount has one root for its life");
    }

    #[test]
    fn a_client_that_is_held_to_nothing_stays_so() {
        let proofs = Proofs::default();
        proofs.asked();
        proofs.learn(&encode(&Proven { root: InodeId(900), proofs: Vec::new() }));
        assert_eq!((proofs.root(), proofs.called(InodeId(900))), (InodeId::ROOT, InodeId(900)));
    }
}
