// SPDX-License-Identifier: Apache-2.0

//! How a time is set.

use crate::time::Time;
use minicbor::{Decode, Decoder, Encode, decode};

/// A new time for an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode)]
pub enum SetTime {
    /// The request's own time.
    #[n(0)]
    Now,
    /// This time.
    #[n(1)]
    At(#[n(0)] Time),
}

impl<'b, C> Decode<'b, C> for SetTime {
    /// Not derived: derived code takes an optional field that holds an unknown variant for an absent one.
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        #[derive(Decode)]
        struct At(#[n(0)] Time);

        if d.array()? != Some(2) {
            return Err(decode::Error::message("expected enum (2-element array)"));
        }
        match d.u8()? {
            0 => d.skip().map(|()| SetTime::Now),
            1 => At::decode(d, ctx).map(|at| SetTime::At(at.0)),
            _ => Err(decode::Error::message("unknown way to set a time")),
        }
    }
}
