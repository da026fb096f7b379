// SPDX-License-Identifier: Apache-2.0

//! The codec of all bodies and records that have no fixed layout: CBOR (RFC 8949) with numbered fields.
//!
//! Fields are numbered and optional ones may be absent, so a newer sender may add fields that an older receiver skips.
//! Decoding never allocates more than the input's own length times a small constant: strings and byte strings are
//! checked against the input before they are copied, and arrays grow as elements arrive.

use crate::error::{ErrorCode, WireError};
use minicbor::encode::Write;
use minicbor::{Decode, Encode};

/// Encodes a body or record.
pub fn encode<T: Encode<()>>(value: &T) -> Vec<u8> {
    encode_large(value, 0)
}

/// The same where it is known that the value carries `content` bytes: memory for them is taken once.
pub fn encode_large<T: Encode<()>>(value: &T, content: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + content);
    encode_into(value, &mut out);
    out
}

/// Encodes a body or record at the end of `out`.
pub fn encode_into<T: Encode<()>>(value: &T, out: &mut Vec<u8>) {
    minicbor::encode(value, Out(out))
        .expect("writing to a Vec cannot fail and our types have no custom encoder that does");
}

/// Takes what is encoded, a byte or a few at a time: as part of the encoder's code, where a `Vec` by itself is called for each.
struct Out<'a>(&'a mut Vec<u8>);

impl Write for Out<'_> {
    type Error = std::convert::Infallible;

    #[inline(always)]
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Decodes a body or record. Bytes after the value are refused: they would mean that two sides disagree on the layout.
pub fn decode<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Result<T, WireError> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let value = decoder.decode().map_err(|e| ErrorCode::BAD_MESSAGE.with(format!("cannot decode: {e}")))?;
    if decoder.position() != bytes.len() {
        let extra = bytes.len() - decoder.position();
        return Err(ErrorCode::BAD_MESSAGE.with(format!("{extra} bytes too many")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::MetaRequest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<MetaRequest>(&bytes);
            let _ = decode::<crate::map::ClusterMap>(&bytes);
            let _ = decode::<crate::mgmt::MgmtRequest>(&bytes);
            let _ = decode::<crate::storage::StorageRequest>(&bytes);
            let _ = decode::<crate::meta_tx::TxRequest>(&bytes);
        }
    }

    #[test]
    fn a_claimed_length_is_not_believed() {
        // A byte string that says it has 2^60 bytes, an array that says it has 2^60 elements.
        for head in [0x5b_u8, 0x9b, 0x7b] {
            let mut bytes = vec![head];
            bytes.extend((1_u64 << 60).to_be_bytes()); // why big-endian: CBOR's own order (RFC 8949, 3)
            assert!(decode::<Vec<u64>>(&bytes).is_err());
            assert!(decode::<String>(&bytes).is_err());
        }
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut bytes = encode(&7_u32);
        assert_eq!(decode::<u32>(&bytes).unwrap(), 7);
        bytes.push(0);
        assert_eq!(decode::<u32>(&bytes).unwrap_err().code, ErrorCode::BAD_MESSAGE);
    }
}
