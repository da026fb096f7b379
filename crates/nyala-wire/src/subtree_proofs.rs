// SPDX-License-Identifier: Apache-2.0

//! What a client that must not leave a directory shows of each inode that it names: a proof that a metadata server found it below that directory.
//!
//! They travel in the payloads of META frames: in a request a list of [`InodeProof`], those of the inodes that it names; in a reply a [`Proven`], those of
//! the inodes that it names for the first time. Storage is shown a list with a message of its own
//! ([`crate::message_type::STORAGE_PROOFS`]), before the first request about a file. `docs/protocol.md` has the rules.

use crate::codec;
use crate::error::{ErrorCode, WireError};
use crate::ids::InodeId;
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

/// Most proofs in one message: of a whole listing, or of all inodes that one request may name.
pub const MAX_PROOFS: usize = 16_384;

/// That an inode is below the client's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct InodeProof {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// 16 bytes that only servers make.
    #[n(1)]
    pub proof: ByteArray<16>,
}

/// What a reply says to such a client beside the reply.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Proven {
    /// The directory that it must not leave: what it has for a root.
    #[n(0)]
    pub root: InodeId,
    /// Proofs, at most [`MAX_PROOFS`].
    #[n(1)]
    pub proofs: Vec<InodeProof>,
}

/// Proofs as they came, within bounds.
pub fn decode_proofs(bytes: &[u8]) -> Result<Vec<InodeProof>, WireError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let proofs: Vec<InodeProof> = codec::decode(bytes)?;
    match proofs.len() > MAX_PROOFS {
        true => Err(ErrorCode::BAD_MESSAGE.with(format!("a message has at most {MAX_PROOFS} proofs"))),
        false => Ok(proofs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_bounded_and_may_be_missing() {
        let one = InodeProof { inode: InodeId(7), proof: [9; 16].into() };
        assert_eq!(decode_proofs(&[]), Ok(Vec::new()));
        assert_eq!(decode_proofs(&codec::encode(&vec![one; 2])), Ok(vec![one; 2]));
        assert!(decode_proofs(&codec::encode(&vec![one; MAX_PROOFS + 1])).is_err());
        assert!(decode_proofs(&[0xff]).is_err());
    }
}
