// SPDX-License-Identifier: Apache-2.0

//! Content of a file within a message: a byte string like any other, but shared with whoever made the message, who may keep
//! it for himself as well, rather than copied for it.

use bytes::Bytes;
use minicbor::encode::Write;
use minicbor::{Decoder, Encoder};

pub fn encode<Ctx, W: Write>(
    content: &Bytes,
    encoder: &mut Encoder<W>,
    _: &mut Ctx,
) -> Result<(), minicbor::encode::Error<W::Error>> {
    encoder.bytes(content)?.ok()
}

/// Takes no more memory than the message itself has bytes.
pub fn decode<Ctx>(decoder: &mut Decoder<'_>, _: &mut Ctx) -> Result<Bytes, minicbor::decode::Error> {
    decoder.bytes().map(Bytes::copy_from_slice)
}
