// SPDX-License-Identifier: Apache-2.0

//! The client's side: makes blocks, checksums and sends them, or asks for blocks and checks what comes; on one thread with blocking calls.
//!
//! **Failure model.** What comes back is compared: place, checksums, and the content where that is wanted. A connection that ends before
//! everything is answered, or that nothing comes from for [`super::phase::ANSWER_TIMEOUT`], is an error.

use super::error::FloorError;
use super::inbox::Inbox;
use super::layout::Assignment;
use super::message::{CHECKED_BYTES, HEAD_BYTES, Location, number};
use super::send::send;
use crate::measure::cpu::thread_us;
use crate::plan::fill::Fill;
use crate::stop::Stop;
use nyala_wire::checksum::crc32c;
use std::net::TcpStream;
use std::ops::Range;
use std::time::Instant;

/// What all connections of a phase share.
pub struct Terms<'a> {
    /// The content of all files.
    pub fill: &'a Fill,
    /// When to end at the latest.
    pub until: Option<Instant>,
    /// The user wants an end.
    pub stop: &'a Stop,
    /// Compare every byte that is read with what was written.
    pub verify: bool,
}

/// What one connection did.
#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// Transfers that were answered.
    pub ops: u64,
    /// CPU time of this thread, microseconds.
    pub cpu_us: u64,
}

/// One connection's requests.
struct Generator<'a> {
    stream: TcpStream,
    share: &'a Assignment,
    terms: &'a Terms<'a>,
    /// Heads of requests that are sent together.
    heads: Vec<u8>,
}

/// Sends all requests of a connection, and takes the answers to all that were sent.
pub fn drive(stream: TcpStream, share: &Assignment, terms: &Terms<'_>) -> Result<Driven, FloorError> {
    let before = thread_us();
    let (head_bytes, data_bytes) =
        if share.step.is_write() { (HEAD_BYTES, 0) } else { (share.full_head(), share.bytes()) };
    let mut inbox = Inbox::new(head_bytes, data_bytes, share.batch());
    let mut generator = Generator { stream, share, terms, heads: vec![0; share.full_head() * share.batch()] };
    let (mut sent, mut answered, mut all) = (0, 0, share.count());
    loop {
        if terms.stop.wanted() || terms.until.is_some_and(|end| Instant::now() >= end) {
            all = sent;
        }
        while sent < all && sent - answered < share.window() as u64 {
            let free = share.window() as u64 - (sent - answered);
            let more = free.min(all - sent).min(share.batch() as u64);
            generator.request(sent..sent + more)?;
            sent += more;
        }
        if answered == sent {
            return Ok(Driven { ops: answered, cpu_us: thread_us() - before });
        }
        let answers = inbox.receive(&mut generator.stream).map_err(FloorError::io("cannot receive an answer"))?;
        if answers.is_empty() {
            return Err(FloorError::Closed);
        }
        for answer in answers {
            generator.check(answered, inbox.head(answer), inbox.data(answer))?;
            answered += 1;
        }
    }
}

impl Generator<'_> {
    /// Sends these requests together.
    fn request(&mut self, numbers: Range<u64>) -> Result<(), FloorError> {
        let (share, fill) = (self.share, self.terms.fill);
        let bytes = share.bytes();
        let with_data = share.step.is_write();
        let head_bytes = if with_data { share.full_head() } else { HEAD_BYTES };
        let mut data = Vec::with_capacity(share.batch());
        for (n, head) in numbers.zip(self.heads.chunks_exact_mut(head_bytes)) {
            let at = share.location(n);
            at.encode(head);
            if with_data {
                let block = fill.at(share.key(at.file), at.offset, bytes);
                let sums = head[HEAD_BYTES..].chunks_exact_mut(size_of::<u32>());
                let pieces = block.chunks_exact(CHECKED_BYTES);
                pieces.zip(sums).for_each(|(piece, sum)| sum.copy_from_slice(&crc32c(piece).to_le_bytes()));
                data.push(block);
            } else {
                data.push(&[]);
            }
        }
        let heads = self.heads.chunks_exact(head_bytes);
        let pieces: Vec<&[u8]> = heads.zip(data).flat_map(|(head, data)| [head, data]).collect();
        send(&mut self.stream, &pieces).map_err(FloorError::io("cannot send a request"))
    }

    /// Checks the answer to request `n`.
    fn check(&self, n: u64, head: &[u8], data: &[u8]) -> Result<(), FloorError> {
        let (at, found) = (self.share.location(n), Location::decode(head));
        if found != at {
            return Err(FloorError::Unexpected { file: found.file as u32, offset: found.offset });
        }
        let offset = |piece: usize| at.offset + (piece * CHECKED_BYTES) as u64;
        for (n, piece) in data.chunks_exact(CHECKED_BYTES).enumerate() {
            if crc32c(piece) != number(head, HEAD_BYTES + n * size_of::<u32>()) {
                return Err(FloorError::DamagedOnTheWay { file: at.file, offset: offset(n) });
            }
        }
        let differs = |data| self.terms.fill.first_difference(self.share.key(at.file), at.offset, data);
        match Some(data).filter(|_| self.terms.verify).and_then(differs) {
            Some(offset) => Err(FloorError::WrongContent { file: at.file, offset }),
            None => Ok(()),
        }
    }
}
