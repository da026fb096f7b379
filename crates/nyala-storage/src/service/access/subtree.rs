// SPDX-License-Identifier: Apache-2.0

//! Clients that must not leave a directory: storage lets them use the chunk files of inodes of which they have shown a proof.
//!
//! **Failure model.** A client may name any inode: without a proof that a metadata server gave, it is refused. What was proven is remembered for all
//! clients with the same root, within bounds, and forgotten when this service ends; who is refused with `PROOF_NEEDED` shows its proof and sends
//! again. Chunk files of inodes that exist no more stay away with their numbers, which are not given twice.

use super::recent::Recent;
use nyala_transport::{Prover, Secret};
use nyala_wire::subtree_proofs::decode_proofs;
use nyala_wire::{ClusterId, ErrorCode, InodeId, WireError};

/// What was proven to this service, as (root, inode).
#[derive(Default)]
pub struct ProvenInodes {
    known: Recent<(InodeId, InodeId), ()>,
}

impl ProvenInodes {
    /// Takes the proofs of a client with this root. One that does not hold refuses all.
    pub fn show(&self, body: &[u8], root: InodeId, secret: &Secret, cluster: ClusterId) -> Result<(), WireError> {
        let (prover, shown) = (Prover::new(secret, cluster, root), decode_proofs(body)?);
        if !shown.iter().all(|shown| prover.is_proof(shown.inode, &shown.proof)) {
            return Err(ErrorCode::ACCESS.with("that does not prove that the file is below this client's directory"));
        }
        shown.iter().for_each(|shown| self.known.remember((root, shown.inode), ()));
        Ok(())
    }

    /// May a client with this root use the chunk files of an inode?
    pub fn check(&self, root: InodeId, inode: InodeId) -> Result<(), WireError> {
        match self.known.get(&(root, inode)).is_some() {
            true => Ok(()),
            false => {
                Err(ErrorCode::PROOF_NEEDED
                    .with("show that the file is below the directory that this client is kept to"))
            }
        }
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
}
