// SPDX-License-Identifier: Apache-2.0

//! Clients that must not leave a directory: every inode that they name by number has to be that directory, or come with a proof that a metadata server
//! once found it below. Pure, but for the keys of the moment ([`Prover`]).
//!
//! **Failure model.** A client may name any number, and show any bytes for a proof: what is not proven is refused, whoever serves it, before the
//! operation sees it. A server gives proofs of what it finds by name in directories that were proven to it, and of nothing else; so whatever a
//! client collects, a chain of names leads to it from its root. A proof is as good as a file handle of NFS: it goes on to hold when the
//! inode is moved out by somebody else, or its last name in the directory is removed while another one stays outside. It ends with the rule.

use nyala_transport::{Prover, Secret};
use nyala_wire::meta::{Grants, MetaOp, MetaReply, MetaRequest};
use nyala_wire::named_inodes::named_inodes;
use nyala_wire::subtree_proofs::{InodeProof, Proven, decode_proofs};
use nyala_wire::{ClusterId, ErrorCode, InodeId, WireError, codec};
use std::collections::HashMap;

/// What one such client is held to.
pub struct Subtree {
    root: InodeId,
    prover: Prover,
}

impl Subtree {
    /// Of a client with this root.
    pub fn new(root: InodeId, secret: &Secret, cluster: ClusterId) -> Subtree {
        Subtree { root, prover: Prover::new(secret, cluster, root) }
    }

    /// EACCES unless all that a request names is below the root, by the proofs that came with it.
    pub fn check(&self, request: &MetaRequest, payload: &[u8]) -> Result<(), WireError> {
        // The root's own parent is outside.
        if matches!(request.op, MetaOp::GetParent { dir } if dir == self.root) {
            return Err(outside());
        }
        let shown: HashMap<InodeId, [u8; 16]> =
            decode_proofs(payload)?.into_iter().map(|shown| (shown.inode, shown.proof.into())).collect();
        let proven = |inode: &InodeId| {
            *inode == self.root || shown.get(inode).is_some_and(|proof| self.prover.is_proof(*inode, proof))
        };
        match named_inodes(&request.op)?.iter().all(proven) {
            true => Ok(()),
            false => Err(outside()),
        }
    }

    /// The payload of a reply: the root, and proofs of what the reply found by name. `finds`: [`finds`] of the operation.
    pub fn proven(&self, finds: bool, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut found = Vec::new();
        if finds {
            add_found(&codec::decode(Grants::split(body)?.1)?, &mut found);
        }
        let prove = |inode: InodeId| {
            let none = || ErrorCode::NOT_READY.with("this metadata service holds no key of servers");
            Ok(InodeProof { inode, proof: self.prover.prove(inode).ok_or_else(none)?.into() })
        };
        let proofs = found.into_iter().map(prove).collect::<Result<_, WireError>>()?;
        Ok(codec::encode(&Proven { root: self.root, proofs }))
    }
}

fn outside() -> WireError {
    ErrorCode::ACCESS.with("an access rule keeps this client below a directory, and this was not found there")
}

/// Whether an operation finds inodes by name in a directory, or makes them there. What others reply with was named by the client, or, as the directory
/// above, may be outside by now.
pub fn finds(op: &MetaOp) -> bool {
    matches!(
        op,
        MetaOp::Lookup { .. }
            | MetaOp::ReadDir { .. }
            | MetaOp::Create { .. }
            | MetaOp::Mkdir { .. }
            | MetaOp::Mknod { .. }
            | MetaOp::Symlink { .. }
            | MetaOp::Tmpfile { .. }
            | MetaOp::Link { .. }
            | MetaOp::Fragments(_)
    )
}

fn add_found(reply: &MetaReply, found: &mut Vec<InodeId>) {
    match reply {
        MetaReply::Entry(entry) => found.push(entry.inode),
        MetaReply::Opened(file) => found.push(file.attr.inode),
        MetaReply::Created { inode, .. } => found.push(*inode),
        MetaReply::Listing(listing) => found.extend(listing.entries.iter().map(|entry| entry.inode)),
        MetaReply::Fragments(fragments) => found.extend(fragments.iter().map(|fragment| fragment.inode)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
