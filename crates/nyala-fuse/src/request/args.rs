// SPDX-License-Identifier: Apache-2.0

//! Takes a request's arguments apart, piece by piece, and never past their end. Pure.

use super::ParseError;
use std::mem::size_of;
use zerocopy::FromBytes;

/// What is left of a request's arguments.
pub(crate) struct Args<'a> {
    body: &'a [u8],
    taken: usize,
}

impl<'a> Args<'a> {
    /// The arguments are `body` without the `extensions_bytes` at its end.
    pub(crate) fn new(body: &'a [u8], extensions_bytes: usize) -> Result<Args<'a>, ParseError> {
        let end = body.len().checked_sub(extensions_bytes).ok_or(ParseError::Malformed("extensions longer than it"))?;
        Ok(Args { body: &body[..end], taken: 0 })
    }

    /// How many bytes were taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// A structure.
    pub(crate) fn fixed<T: FromBytes>(&mut self) -> Result<T, ParseError> {
        let bytes = self.bytes(size_of::<T>())?;
        T::read_from_bytes(bytes).map_err(|_| ParseError::Malformed("structure cut off"))
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ParseError> {
        let (head, rest) = self.body.split_at_checked(count).ok_or(ParseError::Malformed("arguments cut off"))?;
        self.body = rest;
        self.taken += count;
        Ok(head)
    }

    /// Bytes up to a NUL, which is taken too.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], ParseError> {
        let len = self.body.iter().position(|byte| *byte == 0).ok_or(ParseError::Malformed("string without an end"))?;
        let string = self.bytes(len + 1)?;
        Ok(&string[..len])
    }

    /// A name in a directory, owned.
    pub(crate) fn name(&mut self) -> Result<Vec<u8>, ParseError> {
        let name = self.string()?;
        if name.is_empty() || name.contains(&b'/') {
            return Err(ParseError::Malformed("not a name"));
        }
        Ok(name.to_vec())
    }
}
