// SPDX-License-Identifier: Apache-2.0

//! Sends several pieces in as few calls as the kernel takes them in.
//!
//! **Failure model.** A stream may take a part: the rest is sent in the next call. One that takes nothing is an error.

use std::io::{ErrorKind, IoSlice, Result, Write};

/// Sends all of these pieces.
pub fn send(to: &mut impl Write, pieces: &[&[u8]]) -> Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    // Without what is empty: nothing being taken must mean that nothing can be.
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match to.write_vectored(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes in a call.
    struct Slow(Vec<u8>, usize);

    impl Write for Slow {
        fn write(&mut self, buf: &[u8]) -> Result<usize> {
            let taken = buf.len().min(self.1);
            self.0.extend_from_slice(&buf[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_pieces_arrive_in_their_order() {
        for at_once in [1, 3, 100] {
            let mut to = Slow(Vec::new(), at_once);
            send(&mut to, &[b"", b"abc", b"", b"defgh", b""]).unwrap();
            assert_eq!(to.0, b"abcdefgh");
        }
        assert_eq!(send(&mut Slow(Vec::new(), 0), &[b"a"]).unwrap_err().kind(), ErrorKind::WriteZero);
        send(&mut Slow(Vec::new(), 0), &[b"", b""]).unwrap();
    }
}
