// SPDX-License-Identifier: Apache-2.0

//! Values for messages, made from a tape of bytes: proptest makes the bytes and shrinks them.

use bytes::Bytes;
use minicbor::bytes::{ByteArray, ByteVec};
use nyala_wire::Name;
use std::net::SocketAddr;

/// Where values come from.
pub enum Tape {
    /// Numbers 1, 2, 3 …; nothing is absent, flags are set, lists have two elements. For what is pinned.
    Counting(u8),
    /// From bytes; zeros behind their end.
    Bytes(std::vec::IntoIter<u8>),
}

/// What can be made from a tape.
pub trait Sample: Sized {
    fn sample(tape: &mut Tape) -> Self;
}

impl Tape {
    pub fn of(bytes: &[u8]) -> Tape {
        Tape::Bytes(Vec::from(bytes).into_iter())
    }

    pub fn take<T: Sample>(&mut self) -> T {
        T::sample(self)
    }

    pub fn byte(&mut self) -> u8 {
        match self {
            Tape::Counting(last) => {
                *last = last.wrapping_add(1);
                *last
            }
            Tape::Bytes(bytes) => bytes.next().unwrap_or(0),
        }
    }

    /// A number of 0, 1, 2, 4 or 8 bytes, so that every length of its encoding is met.
    pub fn number(&mut self) -> u64 {
        if let Tape::Counting(_) = self {
            return u64::from(self.byte());
        }
        let len = [0, 1, 2, 4, 8][usize::from(self.byte() % 5)];
        (0..len).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// A length below `limit`.
    pub fn len(&mut self, limit: u8) -> usize {
        match self {
            Tape::Counting(_) => 2,
            Tape::Bytes(_) => usize::from(self.byte() % limit),
        }
    }

    pub fn flag(&mut self) -> bool {
        match self {
            Tape::Counting(_) => true,
            Tape::Bytes(_) => self.byte() & 1 == 1,
        }
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }
}

macro_rules! numbers {
    ($($int:ty),*) => {
        $(impl Sample for $int {
            fn sample(tape: &mut Tape) -> Self {
                tape.number() as $int
            }
        })*
    };
}

numbers!(u8, i8, u16, u32, u64, i64);

impl Sample for bool {
    fn sample(tape: &mut Tape) -> Self {
        tape.flag()
    }
}

impl Sample for [u8; 16] {
    fn sample(tape: &mut Tape) -> Self {
        std::array::from_fn(|_| tape.byte())
    }
}

impl Sample for ByteArray<16> {
    fn sample(tape: &mut Tape) -> Self {
        <[u8; 16]>::sample(tape).into()
    }
}

impl Sample for String {
    fn sample(tape: &mut Tape) -> Self {
        let len = tape.len(40);
        (0..len).filter_map(|_| char::from_u32(u32::from(tape.byte()) * 7 + 0x41)).collect()
    }
}

impl Sample for Bytes {
    fn sample(tape: &mut Tape) -> Self {
        let len = tape.len(60);
        tape.bytes(len).into()
    }
}

impl Sample for ByteVec {
    fn sample(tape: &mut Tape) -> Self {
        let len = tape.len(60);
        tape.bytes(len).into()
    }
}

impl Sample for Name {
    fn sample(tape: &mut Tape) -> Self {
        let len = tape.len(u8::MAX).max(1);
        let bytes = tape.bytes(len);
        Name::new(&bytes).unwrap_or_else(|_| Name::new(b"plain").unwrap())
    }
}

impl Sample for SocketAddr {
    fn sample(tape: &mut Tape) -> Self {
        let port = tape.take();
        if tape.flag() {
            return SocketAddr::from(([10, 0, 0, tape.byte()], port));
        }
        SocketAddr::from((tape.take::<[u8; 16]>(), port))
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(tape: &mut Tape) -> Self {
        tape.flag().then(|| tape.take())
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(tape: &mut Tape) -> Self {
        let len = tape.len(4);
        (0..len).map(|_| tape.take()).collect()
    }
}

impl<T: Sample> Sample for Box<T> {
    fn sample(tape: &mut Tape) -> Self {
        Box::new(tape.take())
    }
}

impl<A: Sample, B: Sample> Sample for (A, B) {
    fn sample(tape: &mut Tape) -> Self {
        (tape.take(), tape.take())
    }
}
