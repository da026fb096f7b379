// SPDX-License-Identifier: Apache-2.0

//! From the general codec to the reader and back.

use super::reader::Reader;
use minicbor::{Decoder, decode};

/// Decodes with a reader; the error says what should have been there.
pub fn read<'b, T>(
    d: &mut Decoder<'b>,
    what: &'static str,
    read: impl FnOnce(&mut Reader<'b>) -> Option<T>,
) -> Result<T, decode::Error> {
    let mut reader = Reader::new(d.input(), d.position());
    let value = read(&mut reader).ok_or_else(|| decode::Error::message(what).at(d.position()))?;
    d.set_position(reader.position());
    Ok(value)
}
