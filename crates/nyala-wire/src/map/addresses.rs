// SPDX-License-Identifier: Apache-2.0

//! Socket addresses as text, the form that is the same in CBOR, JSON and configuration files.

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decoder, Encoder};
use std::net::SocketAddr;

/// For `#[cbor(with = …)]`.
pub fn encode<C, W: Write>(
    addresses: &[SocketAddr],
    e: &mut Encoder<W>,
    _: &mut C,
) -> Result<(), EncodeError<W::Error>> {
    e.array(addresses.len() as u64)?;
    addresses.iter().try_for_each(|address| e.str(&address.to_string())?.ok())
}

/// For `#[cbor(encode_with = …)]` of a single one.
pub fn encode_one<C, W: Write>(
    address: &SocketAddr,
    e: &mut Encoder<W>,
    _: &mut C,
) -> Result<(), EncodeError<W::Error>> {
    e.str(&address.to_string())?.ok()
}

/// For `#[cbor(decode_with = …)]` of a single one.
pub fn decode_one<'b, C>(d: &mut Decoder<'b>, _: &mut C) -> Result<SocketAddr, DecodeError> {
    d.str()?.parse().map_err(|_| DecodeError::message("not a socket address"))
}

/// For `#[cbor(with = …)]`.
pub fn decode<'b, C>(d: &mut Decoder<'b>, _: &mut C) -> Result<Vec<SocketAddr>, DecodeError> {
    let texts = d.array_iter::<&str>()?;
    texts.map(|text| text?.parse().map_err(|_| DecodeError::message("not a socket address"))).collect()
}
