// SPDX-License-Identifier: Apache-2.0

//! CBOR (RFC 8949) of what every request carries, written and read in one piece: the same bytes as the general codec's, for a fraction of
//! its instructions, which go into calls and results that are passed on field by field.
//!
//! Numbers are written in their shortest form. What is read is checked as the general codec checks it; a shape that is not expected here
//! is `None`, and for the general codec to judge.

mod heads;
mod plain;
mod read;
mod reader;
#[cfg(test)]
mod tests;

pub use plain::Plain;
pub use read::read;
pub use reader::Reader;
