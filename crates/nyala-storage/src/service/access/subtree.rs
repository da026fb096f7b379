// SPDX-License-Identifier: Apache-2.0

//! Clients that must not leave a directory: storage lets them use the chunk files of inodes of which they have shown a proof.
//!
//! **Failure model.** A client may name any inode: without a proof that a metadata server gave, it is refused. What was proven is remembered for all
//! clients with the same root, within bounds, and forgotten when this service ends; who is refused with `PROOF_NEEDED` shows its proof and sends
//! again. Chunk files of inodes that exist no more stay away with their numbers, which are not given twice.

use nyala_transport::{Prover, Secret};
use nyala_wire::subtree_proofs::decode_proofs;
use nyala_wire::{ClusterId, ErrorCode, InodeId, WireError};
use parking_lot::Mutex;
use std::collections::HashSet;

/// Proven inodes that are remembered for sure; up to twice as many are.
const REMEMBERED: usize = 1 << 16;

/// What was proven to this service, as (root, inode).
#[derive(Default)]
pub struct ProvenInodes {
    /// The newer half, and the older one, which goes when the newer is full.
    halves: Mutex<[HashSet<(InodeId, InodeId)>; 2]>,
}

impl ProvenInodes {
    /// Takes the proofs of a client with this root. One that does not hold refuses all.
    pub fn show(&self, body: &[u8], root: InodeId, secret: &Secret, cluster: ClusterId) -> Result<(), WireError> {
        let (prover, shown) = (Prover::new(secret, cluster, root), decode_proofs(body)?);
        if !shown.iter().all(|shown| prover.is_proof(shown.inode, &shown.proof)) {
            return Err(ErrorCode::ACCESS.with("that does not prove that the file is below this client's directory"));
        }
        shown.iter().for_each(|shown| self.remember((root, shown.inode)));
        Ok(())
    }

    /// May a client with this root use the chunk files of an inode?
    pub fn check(&self, root: InodeId, inode: InodeId) -> Result<(), WireError> {
        let [newer, older] = &*self.halves.lock();
        let known = (root, inode);
        if newer.contains(&known) {
            return Ok(());
        }
        match older.contains(&known) {
            true => Ok(()),
            false => {
                Err(ErrorCode::PROOF_NEEDED
                    .with("show that the file is below the directory that this client is kept to"))
            }
        }
    }

    fn remember(&self, known: (InodeId, InodeId)) {
        let mut halves = self.halves.lock();
        if halves[0].len() >= REMEMBERED {
            halves.swap(0, 1);
            halves[0].clear();
        }
        halves[0].insert(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::codec;
    use nyala_wire::subtree_proofs::InodeProof;

    const CLUSTER: ClusterId = ClusterId([3; 16]);
    const ROOT: InodeId = InodeId(900);

    #[test]
    fn what_was_proven_is_let_in_for_that_root_alone() {
        // A plain secret is a key of servers, too.
        let secret = Secret::from_bytes(&[7; 32]).unwrap();
        let prover = Prover::new(&secret, CLUSTER, ROOT);
        let proof = |of, shown_for| {
            codec::encode(&vec![InodeProof { inode: shown_for, proof: prover.prove(of).unwrap().into() }])
        };
        let known = ProvenInodes::default();
        let needed = |root, inode| known.check(root, inode).map_err(|error| error.code);
        let (mine, other) = (InodeId(5), InodeId(6));
        assert_eq!(needed(ROOT, mine), Err(ErrorCode::PROOF_NEEDED));
        let wrong = known.show(&proof(mine, other), ROOT, &secret, CLUSTER);
        assert_eq!(wrong.map_err(|error| error.code), Err(ErrorCode::ACCESS));
        let elsewhere = known.show(&proof(mine, mine), InodeId(901), &secret, CLUSTER);
        assert_eq!(elsewhere.map_err(|error| error.code), Err(ErrorCode::ACCESS));
        assert_eq!(
            (needed(ROOT, other), needed(InodeId(901), mine)),
            (Err(ErrorCode::PROOF_NEEDED), Err(ErrorCode::PROOF_NEEDED))
        );
        assert_eq!(known.show(&proof(mine, mine), ROOT, &secret, CLUSTER), Ok(()));
        assert_eq!(needed(ROOT, mine), Ok(()));
        assert_eq!(needed(InodeId(901), mine), Err(ErrorCode::PROOF_NEEDED), "another directory's clients");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_kept() {
        let known = ProvenInodes::default();
        let all = 3 * REMEMBERED as u64;
        (0..all).for_each(|inode| known.remember((ROOT, InodeId(inode))));
        let kept = (0..all).filter(|inode| known.check(ROOT, InodeId(*inode)).is_ok()).count();
        assert!((REMEMBERED..=2 * REMEMBERED).contains(&kept), "{kept}");
        assert!((all - REMEMBERED as u64..all).all(|inode| known.check(ROOT, InodeId(inode)).is_ok()));
    }
}
