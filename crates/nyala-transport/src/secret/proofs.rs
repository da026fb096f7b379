// SPDX-License-Identifier: Apache-2.0

//! Proofs that an inode was found below a directory: codes that only holders of a server's key make.
//!
//! **Failure model.** A proof says nothing but what it was made over: the cluster, the directory and the inode. Who changes a bit of it, or shows one
//! of another inode, directory or cluster, shows no proof. During a rotation servers hold different keys: they make proofs with the oldest
//! one that they have, which the others still know or have just retired together with it, and take those of any. A proof under a key
//! that every server has retired is none any more. Where clients hold a key of servers (a plain secret), they can make proofs themselves.

use super::Secret;
use crate::crypto;
use nyala_wire::{ClusterId, InodeId};

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 16;

/// Makes and checks the proofs for one directory.
pub struct Prover {
    /// Of keys of servers, the oldest first.
    keys: Vec<[u8; 32]>,
    below: [u8; 24],
}

impl Prover {
    /// For what is below `root`, with the keys that the secret has now.
    pub fn new(secret: &Secret, cluster: ClusterId, root: InodeId) -> Prover {
        let servers = secret.keys();
        let keys = servers.iter().filter(|key| key.grant.roles.server).map(|key| crypto::proof_key(&key.psk)).collect();
        let mut below = [0; 24];
        below[..16].copy_from_slice(&cluster.0);
        below[16..].copy_from_slice(&root.0.to_le_bytes());
        Prover { keys, below }
    }

    /// That an inode was found there; `None` on a host that holds no key of servers.
    pub fn prove(&self, inode: InodeId) -> Option<[u8; PROOF_BYTES]> {
        self.keys.first().map(|key| self.code(key, inode))
    }

    /// Whether this proves it.
    pub fn is_proof(&self, inode: InodeId, proof: &[u8; PROOF_BYTES]) -> bool {
        // All bytes are compared, whatever the first ones are.
        let same = |code: [u8; PROOF_BYTES]| code.iter().zip(proof).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0;
        self.keys.iter().any(|key| same(self.code(key, inode)))
    }

    fn code(&self, key: &[u8; 32], inode: InodeId) -> [u8; PROOF_BYTES] {
        let mut said = [0; 32];
        said[..24].copy_from_slice(&self.below);
        said[24..].copy_from_slice(&inode.0.to_le_bytes());
        let whole = crypto::code(key, &said);
        let mut code = [0; PROOF_BYTES];
        code.copy_from_slice(&whole[..PROOF_BYTES]);
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::key::Grant;
    use crate::secret::key_file::{KeyEntry, KeyFile};

    const CLUSTER: ClusterId = ClusterId([7; 16]);
    const ROOT: InodeId = InodeId(9);

    fn secret(keys: &[(&str, &str)]) -> Secret {
        let entry = |(id, roles): &(&str, &str)| {
            let grant = Grant { key: (*id).into(), roles: roles.parse().unwrap(), ..Grant::default() };
            KeyEntry { grant, made: 0, secret: format!("{id:.<32}").into_bytes() }
        };
        Secret::from_keys(&KeyFile { keys: keys.iter().map(entry).collect() })
    }

    fn prover(keys: &[(&str, &str)]) -> Prover {
        Prover::new(&secret(keys), CLUSTER, ROOT)
    }

    #[test]
    fn a_proof_is_of_one_inode_below_one_directory_of_one_cluster() {
        let servers = secret(&[("s", "server"), ("c", "client")]);
        let here = Prover::new(&servers, CLUSTER, ROOT);
        let proof = here.prove(InodeId(100)).unwrap();
        assert!(here.is_proof(InodeId(100), &proof) && !here.is_proof(InodeId(101), &proof));
        assert!(!Prover::new(&servers, CLUSTER, InodeId(10)).is_proof(InodeId(100), &proof));
        assert!(!Prover::new(&servers, ClusterId([8; 16]), ROOT).is_proof(InodeId(100), &proof));
        for bit in 0..PROOF_BYTES * 8 {
            let mut wrong = proof;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!here.is_proof(InodeId(100), &wrong), "bit {bit}");
        }
    }

    #[test]
    fn only_keys_of_servers_make_proofs() {
        let (servers, clients) = (prover(&[("s", "server"), ("c", "client")]), prover(&[("c", "client")]));
        assert_eq!(clients.prove(InodeId(5)), None);
        let forged = prover(&[("c", "server")]).prove(InodeId(5)).unwrap();
        assert!(!servers.is_proof(InodeId(5), &forged), "of the client's key, as if it were one of servers");
    }

    #[test]
    fn a_rotation_takes_proofs_along_until_the_old_key_is_gone() {
        let (before, during, after) =
            (prover(&[("a", "server")]), prover(&[("a", "server"), ("b", "server")]), prover(&[("b", "server")]));
        let old = before.prove(InodeId(5)).unwrap();
        assert_eq!(during.prove(InodeId(5)), Some(old), "whoever has not heard of the new key takes it");
        let new = after.prove(InodeId(5)).unwrap();
        assert!(during.is_proof(InodeId(5), &old) && during.is_proof(InodeId(5), &new));
        assert!(!after.is_proof(InodeId(5), &old));
    }
}
