// SPDX-License-Identifier: Apache-2.0

//! Receives messages of one size: heads into one memory, data into another, where it is checked and written from without a copy.
//!
//! **Failure model.** A stream may bring a part of a message, or many at once: what is incomplete stays for the next call. It may end:
//! between two messages that is the end, within one an error. Memory is for a fixed number of messages, whatever comes.

use nyala_transport::buffers::{Buffer, Buffers};
use std::io::{self, ErrorKind, IoSliceMut, Read};
use std::ops::Range;

/// Memory for messages of one size.
pub struct Inbox {
    heads: Vec<u8>,
    data: Buffer,
    head_bytes: usize,
    data_bytes: usize,
    /// Bytes received, of all messages in memory in their order.
    have: usize,
}

impl Inbox {
    /// For so many messages at once.
    pub fn new(head_bytes: usize, data_bytes: usize, messages: usize) -> Inbox {
        let data = Buffers::new(0).take(data_bytes * messages);
        Inbox { heads: vec![0; head_bytes * messages], data, head_bytes, data_bytes, have: 0 }
    }

    /// Waits for a whole message; which ones are there. None: the stream has ended.
    pub fn receive(&mut self, from: &mut impl Read) -> io::Result<Range<usize>> {
        let message = self.head_bytes + self.data_bytes;
        if self.have.is_multiple_of(message) {
            self.have = 0;
        }
        let first = self.have / message;
        loop {
            let received = from.read_vectored(&mut self.free());
            let got = match received {
                Ok(0) if self.have.is_multiple_of(message) => return Ok(0..0),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(got) => got,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.have += got;
            let whole = self.have / message;
            if whole > first {
                return Ok(first..whole);
            }
        }
    }

    /// The memory that what comes next belongs into.
    fn free(&mut self) -> Vec<IoSliceMut<'_>> {
        let message = self.head_bytes + self.data_bytes;
        let (skipped, within) = (self.have / message, self.have % message);
        let heads = self.heads[skipped * self.head_bytes..].chunks_exact_mut(self.head_bytes);
        if self.data_bytes == 0 {
            return heads.enumerate().map(|(n, head)| IoSliceMut::new(behind(head, n, within))).collect();
        }
        let data = self.data[skipped * self.data_bytes..].chunks_exact_mut(self.data_bytes);
        let mut all = Vec::with_capacity(2 * heads.len());
        for (n, (head, data)) in heads.zip(data).enumerate() {
            let of_data = within.saturating_sub(head.len());
            all.push(IoSliceMut::new(behind(head, n, within)));
            all.push(IoSliceMut::new(behind(data, n, of_data)));
        }
        all.retain(|slice| !slice.is_empty());
        all
    }

    /// Head of a message, with its checksums.
    pub fn head(&self, message: usize) -> &[u8] {
        &self.heads[message * self.head_bytes..][..self.head_bytes]
    }

    /// Data of a message.
    pub fn data(&self, message: usize) -> &[u8] {
        &self.data[message * self.data_bytes..][..self.data_bytes]
    }
}

/// Of the first message, what is behind the bytes that are there already.
fn behind(memory: &mut [u8], n: usize, there: usize) -> &mut [u8] {
    let from = if n == 0 { there.min(memory.len()) } else { 0 };
    &mut memory[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it has in pieces of these sizes, in turn.
    struct Pieces<'a>(&'a [u8], Vec<usize>, usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.read_vectored(&mut [IoSliceMut::new(buf)])
        }

        fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            assert!(!slices.is_empty(), "there is always room");
            let most = self.1[self.2 % self.1.len()].min(self.0.len());
            self.2 += 1;
            let (mut piece, mut done) = (&self.0[..most], 0);
            for slice in slices {
                done += piece.read(slice)?;
            }
            self.0 = &self.0[done..];
            Ok(done)
        }
    }

    fn all(bytes: &[u8], pieces: &[usize], data_bytes: usize, messages: usize) -> io::Result<Vec<u8>> {
        let (mut from, mut inbox) = (Pieces(bytes, pieces.to_vec(), 0), Inbox::new(3, data_bytes, messages));
        let mut got = Vec::new();
        loop {
            let range = inbox.receive(&mut from)?;
            let memory = (inbox.heads.capacity(), inbox.data.len());
            assert_eq!(memory, (3 * messages, data_bytes * messages), "whatever comes");
            if range.is_empty() {
                return Ok(got);
            }
            for n in range {
                got.extend_from_slice(inbox.head(n));
                got.extend_from_slice(inbox.data(n));
            }
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let bytes: Vec<u8> = (0..240).collect();
        for messages in [1, 2, 3, 7] {
            for pieces in [vec![1], vec![2, 5, 11], vec![8], vec![1000], vec![13, 1, 40]] {
                assert_eq!(all(&bytes, &pieces, 5, messages).unwrap(), bytes, "{messages} {pieces:?}");
                assert_eq!(all(&bytes, &pieces, 0, messages).unwrap(), bytes, "heads only: {messages} {pieces:?}");
            }
        }
    }

    #[test]
    fn an_end_within_a_message_is_an_error() {
        for cut in [1, 3, 7] {
            let error = all(&[0; 16][..8 + cut], &[6], 5, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{cut}");
        }
        assert!(all(&[], &[6], 5, 2).unwrap().is_empty());
    }
}
