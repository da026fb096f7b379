// SPDX-License-Identifier: Apache-2.0

//! Frames on their way out: everything that is queued goes into one `writev`.
//!
//! **Failure model.** The socket may take any part of what is offered, or nothing for a long time: the rest is kept and
//! offered again, never reordered and never dropped while the connection lives.

use crate::file_part::FilePart;
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
    file: Option<FilePart>,
}

impl OutFrame {
    /// Completes the header with lengths and checksum.
    pub(crate) fn new(header: Header, body: Bytes, payload: Vec<Bytes>) -> std::result::Result<Self, FrameError> {
        OutFrame::with_file(header, body, payload, None)
    }

    /// The same, with a payload that ends in a file.
    pub(crate) fn with_file(
        mut header: Header,
        body: Bytes,
        payload: Vec<Bytes>,
        file: Option<FilePart>,
    ) -> std::result::Result<Self, FrameError> {
        let payload_len = payload.iter().map(Bytes::len).sum::<usize>() + file.as_ref().map_or(0, FilePart::len);
        check_lengths(body.len() as u64, payload_len as u64)?;
        header.body_len = body.len() as u32;
        header.payload_len = payload_len as u32;
        header.body_crc = crc32c(&body);
        Ok(OutFrame { header, body, payload, file })
    }

    /// On the wire.
    pub(crate) fn bytes(&self) -> usize {
        HEADER_BYTES + self.header.body_len as usize + self.header.payload_len as usize
    }
}

/// What is written in one go.
enum Piece {
    Bytes(Bytes),
    File(FilePart),
}

/// Encoded bytes that wait for the socket.
#[derive(Default)]
struct Batch {
    pieces: VecDeque<Piece>,
    small: BytesMut,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, frame: OutFrame, sealed: bool) {
        // Memory for all that is copied at once: what grows piece by piece is copied each time.
        let pieces = frame.payload.iter().chain([&frame.body]).map(Bytes::len);
        self.small.reserve(HEADER_BYTES + pieces.filter(|len| *len <= COPY).sum::<usize>());
        self.small.extend_from_slice(&frame.header.encode());
        self.bytes += HEADER_BYTES;
        self.piece(frame.body);
        for piece in frame.payload {
            self.piece(piece);
        }
        match frame.file.filter(|file| file.len() > 0) {
            None => {}
            Some(file) if sealed => self.piece(file.read()),
            Some(file) => {
                self.close_small();
                self.bytes += file.len();
                self.pieces.push_back(Piece::File(file));
            }
        }
    }

    fn piece(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if piece.len() <= COPY {
            self.small.extend_from_slice(&piece);
        } else {
            self.close_small();
            self.pieces.push_back(Piece::Bytes(piece));
        }
    }

    fn close_small(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push_back(Piece::Bytes(self.small.split().freeze()));
        }
    }

    /// The pieces up to the next file.
    fn slices<'a>(&'a self, out: &mut [IoSlice<'a>; MAX_PIECES]) -> usize {
        let bytes = self.pieces.iter().map_while(|piece| match piece {
            Piece::Bytes(bytes) => Some(bytes),
            Piece::File(_) => None,
        });
        bytes.zip(out.iter_mut()).map(|(piece, slice)| *slice = IoSlice::new(piece)).count()
    }

    fn advance(&mut self, mut bytes: usize) {
        self.bytes -= bytes;
        while let Some(first) = self.pieces.front_mut() {
            let len = match first {
                Piece::Bytes(piece) => piece.len(),
                Piece::File(file) => file.len(),
            };
            if bytes < len {
                match first {
                    Piece::Bytes(piece) => piece.advance(bytes),
                    Piece::File(file) => file.advance(bytes),
                }
                return;
            }
            bytes -= len;
            self.pieces.pop_front();
        }
    }

    /// The file at the front cannot be sent from where it is.
    fn read_file(&mut self) {
        if let Some(Piece::File(file)) = self.pieces.front() {
            let bytes = file.read();
            self.pieces[0] = Piece::Bytes(bytes);
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

    /// Where frames go, if all are there.
    pub(crate) fn into_side(self) -> Option<WriteSide> {
        self.is_empty().then_some(self.side)
    }

    pub(crate) fn push(&mut self, frame: OutFrame) {
        self.batch.push(frame, self.side.is_sealed());
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
            match self.write_some() {
                Ok(written) => self.batch.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match self.side.try_finish() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            other => other.map(|()| true),
        }
    }

    fn write_some(&mut self) -> Result<usize> {
        if let Some(Piece::File(file)) = self.batch.pieces.front() {
            let sent = self.side.try_send(file)?;
            if sent == 0 {
                self.batch.read_file();
            }
            return Ok(sent);
        }
        let mut slices = [IoSlice::new(&[]); MAX_PIECES];
        let count = self.batch.slices(&mut slices);
        match self.side.try_write(&slices[..count], count < self.batch.pieces.len())? {
            0 => Err(ErrorKind::WriteZero.into()),
            written => Ok(written),
        }
    }

    /// Writes everything.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        while !self.try_flush()? {
            self.side.writable().await?;
        }
        Ok(())
    }
}
