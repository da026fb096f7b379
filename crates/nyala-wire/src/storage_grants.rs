// SPDX-License-Identifier: Apache-2.0

//! What a client whose rule is about users shows storage of each file whose chunks it uses: a grant of the file's metadata server, which checked
//! that some user whom the client may act as has these rights.
//!
//! A client asks for one with [`crate::meta::MetaOp::StorageGrant`] when a storage service answers
//! [`crate::ErrorCode::GRANT_NEEDED`], and shows it with a message of its own ([`crate::message_type::STORAGE_GRANTS`]). `docs/protocol.md` has the rules.

use crate::codec;
use crate::error::{ErrorCode, WireError};
use crate::ids::InodeId;
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

/// Most grants in one message.
pub const MAX_GRANTS: usize = 1024;

/// What may be done with a file's chunks; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum StorageRights {
    /// Nothing is changed.
    #[n(0)]
    Read,
    /// They are read and changed.
    #[n(1)]
    Write,
}

/// That a client with a certain rule may use a file's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StorageGrant {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// What may be done.
    #[n(1)]
    pub rights: StorageRights,
    /// 16 bytes that only servers make; zeros: made for a client that has no rule about users.
    #[n(2)]
    pub code: ByteArray<16>,
}

/// Grants as they came, within bounds.
pub fn decode_grants(bytes: &[u8]) -> Result<Vec<StorageGrant>, WireError> {
    let grants: Vec<StorageGrant> = codec::decode(bytes)?;
    match grants.len() > MAX_GRANTS {
        true => Err(ErrorCode::BAD_MESSAGE.with(format!("a message has at most {MAX_GRANTS} grants"))),
        false => Ok(grants),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_bounded_and_writing_includes_reading() {
        let one = StorageGrant { inode: InodeId(7), rights: StorageRights::Write, code: [9; 16].into() };
        assert_eq!(decode_grants(&codec::encode(&vec![one; 2])), Ok(vec![one; 2]));
        assert!(decode_grants(&codec::encode(&vec![one; MAX_GRANTS + 1])).is_err());
        assert!(decode_grants(&[]).is_err() && decode_grants(&[0xff]).is_err());
        assert!(StorageRights::Write > StorageRights::Read);
    }
}
