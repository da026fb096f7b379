// SPDX-License-Identifier: Apache-2.0

//! Frames on their way in: many small ones per `read`, large payloads straight into their own buffer.
//!
//! **Failure model.** Any bytes may come, in any pieces, or none. A frame that is refused ends the connection, since
//! nothing tells where the next one starts. Memory is asked for only after header checksum, lengths and the budget
//! allowed it. A peer that stops in the middle of a frame is given up after `stall`.

use crate::budget::{MemoryBudget, Permit};
use crate::buffers::{Buffers, occupied};
use crate::stream::ReadSide;
use bytes::Bytes;
use nyala_wire::frame::{Frame, FrameError, HEADER_BYTES, Header};
use std::ops::Range;
use std::time::Duration;

/// Bytes read at once. Also what an idle connection occupies.
const READ_BYTES: usize = 32 << 10;
/// Bodies and payloads up to this length are taken out of the read buffer, bytes: what follows them comes with the same `read`.
const SMALL: usize = READ_BYTES / 2;
/// Requests up to this length do not count against the budget, bytes; the number under way bounds them.
const FREE: usize = 16 << 10;

/// Why no further frame comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the other side closed the connection")]
    Closed,
    #[error("the connection ended in the middle of a frame")]
    CutShort,
    #[error("nothing arrived for {0:?} in the middle of a frame")]
    Stalled(Duration),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
}

/// Reads frames from one connection.
pub(crate) struct FrameReader {
    side: ReadSide,
    memory: Box<[u8]>,
    /// Received and not yet used.
    filled: Range<usize>,
    buffers: Buffers,
    budget: Option<MemoryBudget>,
    stall: Duration,
}

impl FrameReader {
    pub(crate) fn new(side: ReadSide, buffers: Buffers, budget: Option<MemoryBudget>, stall: Duration) -> FrameReader {
        FrameReader { side, memory: vec![0; READ_BYTES].into(), filled: 0..0, buffers, budget, stall }
    }

    /// What frames come from, if nothing was read beyond the last one.
    pub(crate) fn into_side(self) -> Option<ReadSide> {
        self.filled.is_empty().then_some(self.side)
    }

    /// The connection, to look at.
    pub(crate) fn socket(&self) -> std::sync::Arc<tokio::net::TcpStream> {
        self.side.socket()
    }

    /// Could [`Self::next`] have to wait for the network? If so, what was answered should be sent first.
    pub(crate) fn may_wait(&self) -> bool {
        let Some(header) = self.here().first_chunk::<HEADER_BYTES>() else { return true };
        Header::decode(header)
            .is_ok_and(|h| h.payload_len as usize + h.body_len as usize + HEADER_BYTES > self.filled.len())
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Result<Frame, ReadError> {
        let header = self.header().await?;
        let (body_len, payload_len) = (header.body_len as usize, header.payload_len as usize);
        let charge = body_len + occupied(payload_len);
        let mut permit = match self.budget.as_ref().filter(|_| charge > FREE) {
            Some(budget) => budget.take(charge).await,
            None => None,
        };
        let body = match body_len <= SMALL {
            true => self.small(body_len).await?,
            false => self.large(body_len, permit.as_mut().and_then(|permit| permit.split(body_len))).await?,
        };
        header.check_body(&body)?;
        let payload = match payload_len == 0 || payload_len <= SMALL && permit.is_none() {
            true => self.small(payload_len).await?,
            false => self.large(payload_len, permit).await?,
        };
        Ok(Frame { header, body, payload })
    }

    fn here(&self) -> &[u8] {
        &self.memory[self.filled.clone()]
    }

    async fn header(&mut self) -> Result<Header, ReadError> {
        if self.filled.is_empty() {
            let len = self.side.read_into(&mut self.memory).await?;
            self.filled = 0..len;
            if len == 0 {
                return Err(ReadError::Closed);
            }
        }
        self.buffered(HEADER_BYTES).await?;
        let bytes = self.here().first_chunk().ok_or(ReadError::CutShort)?;
        let header = Header::decode(bytes)?;
        self.filled.start += HEADER_BYTES;
        Ok(header)
    }

    async fn large(&mut self, len: usize, permit: Option<Permit>) -> Result<Bytes, ReadError> {
        let mut buffer = self.buffers.take(len);
        self.fill(&mut buffer).await?;
        Ok(buffer.into_bytes(permit))
    }

    async fn small(&mut self, len: usize) -> Result<Bytes, ReadError> {
        self.buffered(len).await?;
        let bytes = Bytes::copy_from_slice(&self.here()[..len]);
        self.filled.start += len;
        Ok(bytes)
    }

    /// At least `len` (≤ [`READ_BYTES`]) bytes are in the buffer.
    async fn buffered(&mut self, len: usize) -> Result<(), ReadError> {
        if self.filled.len() < len && self.filled.start > 0 {
            self.memory.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        while self.filled.len() < len {
            let reading = self.side.read_into(&mut self.memory[self.filled.end..]);
            self.filled.end += unless_stalled(self.stall, reading).await?;
        }
        Ok(())
    }

    async fn fill(&mut self, out: &mut [u8]) -> Result<(), ReadError> {
        let mut done = self.filled.len().min(out.len());
        out[..done].copy_from_slice(&self.here()[..done]);
        self.filled.start += done;
        while done < out.len() {
            let reading = self.side.read_into(&mut out[done..]);
            done += unless_stalled(self.stall, reading).await?;
        }
        Ok(())
    }
}

/// A read in the middle of a frame.
async fn unless_stalled(
    stall: Duration,
    reading: impl Future<Output = std::io::Result<usize>>,
) -> Result<usize, ReadError> {
    match tokio::time::timeout(stall, reading).await {
        Ok(Ok(0)) => Err(ReadError::CutShort),
        Ok(read) => Ok(read?),
        Err(_) => Err(ReadError::Stalled(stall)),
    }
}
