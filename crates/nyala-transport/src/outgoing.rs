// SPDX-License-Identifier: Apache-2.0

//! Frames on their way out: everything that is queued goes into one `writev`.
//!
//! **Failure model.** The socket may take any part of what is offered, or nothing for a long time: the rest is kept and
//! offered again, never reordered and never dropped while the connection lives.

use crate::stream::WriteSide;
use bytes::{Buf, Bytes, BytesMut};
use nyala_wire::checksum::crc32c;
use nyala_wire::frame::{FrameError, HEADER_BYTES, Header, check_lengths};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Result};

/// Pieces up to this length are copied together, bytes: cheaper than one more entry in a `writev`.
const COPY: usize = 4096;
/// A batch takes no more frames once it holds so many bytes.
pub(crate) const BATCH_BYTES: usize = 1 << 20;
const MAX_PIECES: usize = 64;

/// A frame whose lengths were checked.
#[derive(Debug)]
pub(crate) struct OutFrame {
    pub header: Header,
    body: Bytes,
    payload: Vec<Bytes>,
}

impl OutFrame {
    /// Completes the header with lengths and checksum.
    pub(crate) fn new(mut header: Header, body: Bytes, payload: Vec<Bytes>) -> std::result::Result<Self, FrameError> {
        let payload_len: usize = payload.iter().map(Bytes::len).sum();
        check_lengths(body.len() as u64, payload_len as u64)?;
        header.body_len = body.len() as u32;
        header.payload_len = payload_len as u32;
        header.body_crc = crc32c(&body);
        Ok(OutFrame { header, body, payload })
    }

    /// On the wire.
    pub(crate) fn bytes(&self) -> usize {
        HEADER_BYTES + self.header.body_len as usize + self.header.payload_len as usize
    }
}

/// Encoded bytes that wait for the socket.
#[derive(Default)]
struct Batch {
    pieces: VecDeque<Bytes>,
    small: BytesMut,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, frame: OutFrame) {
        self.small.extend_from_slice(&frame.header.encode());
        self.bytes += HEADER_BYTES;
        self.piece(frame.body);
        for piece in frame.payload {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if piece.len() <= COPY {
            self.small.extend_from_slice(&piece);
        } else {
            self.close_small();
            self.pieces.push_back(piece);
        }
    }

    fn close_small(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push_back(self.small.split().freeze());
        }
    }

    fn slices<'a>(&'a self, out: &mut [IoSlice<'a>; MAX_PIECES]) -> usize {
        let pieces = self.pieces.iter().zip(out.iter_mut());
        pieces.map(|(piece, slice)| *slice = IoSlice::new(piece)).count()
    }

    fn advance(&mut self, mut bytes: usize) {
        self.bytes -= bytes;
        while let Some(first) = self.pieces.front_mut() {
            if bytes < first.len() {
                first.advance(bytes);
                return;
            }
            bytes -= first.len();
            self.pieces.pop_front();
        }
    }
}

/// The write side of a connection and what it has been given.
pub(crate) struct Sink {
    side: WriteSide,
    batch: Batch,
}

impl Sink {
    pub(crate) fn new(side: WriteSide) -> Sink {
        Sink { side, batch: Batch::default() }
    }

    pub(crate) fn push(&mut self, frame: OutFrame) {
        self.batch.push(frame);
    }

    /// Should it be flushed before it is given more?
    pub(crate) fn is_full(&self) -> bool {
        self.batch.bytes >= BATCH_BYTES
    }

    /// Is nothing left to be written?
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.bytes == 0 && self.side.is_clean()
    }

    /// Writes what the socket takes at once; true: everything.
    pub(crate) fn try_flush(&mut self) -> Result<bool> {
        self.batch.close_small();
        while !self.batch.pieces.is_empty() {
            let mut slices = [IoSlice::new(&[]); MAX_PIECES];
            let count = self.batch.slices(&mut slices);
            match self.side.try_write(&slices[..count]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.batch.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        match self.side.try_finish() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Writes everything.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        self.batch.close_small();
        while !self.batch.pieces.is_empty() {
            let written = {
                let mut slices = [IoSlice::new(&[]); MAX_PIECES];
                let count = self.batch.slices(&mut slices);
                self.side.write(&slices[..count]).await?
            };
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            self.batch.advance(written);
        }
        self.side.finish().await
    }
}
