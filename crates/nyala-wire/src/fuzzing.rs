// SPDX-License-Identifier: Apache-2.0

//! What fuzz targets (`crates/nyala-fuzz`) ask of every type of the codec. No part of the protocol.

use crate::codec::{decode, encode};
use crate::error::ErrorCode;
use minicbor::{Decode, Encode};
use std::fmt::Debug;

/// Whether the bytes are a body or record of this type.
///
/// # Panics
/// If what was decoded differs after another round trip, or the refusal is not [`ErrorCode::BAD_MESSAGE`].
pub fn round_trip<T>(bytes: &[u8]) -> bool
where
    T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug,
{
    match decode::<T>(bytes) {
        Ok(value) => {
            let encoded = encode(&value);
            match decode::<T>(&encoded) {
                Ok(again) => {
                    assert_eq!(again, value, "decoded, encoded and decoded again");
                    assert_eq!(encode(&again), encoded, "equal values have equal encodings");
                }
                Err(error) => assert_eq!(error.message, "", "what was encoded is refused: {value:?}"),
            }
            true
        }
        Err(error) => {
            assert_eq!(error.code, ErrorCode::BAD_MESSAGE, "{error}");
            false
        }
    }
}
