// SPDX-License-Identifier: Apache-2.0

//! What was read from a log and may not be on its disk.
//!
//! # Failure model
//! After a failed sync Linux calls the pages clean: the next process reads them from the page cache, and its own sync
//! does nothing and says that all is well; with the power they go. A record says up to where the log was on disk when it was
//! written. So what lies behind the last such place is written again before it is synced.

use std::collections::VecDeque;
use std::io;

use super::disk::LogFile;

/// The stored bytes of one record.
struct Piece {
    lsn: u64,
    sequence: u64,
    offset: u64,
    bytes: Vec<u8>,
}

/// Records in order, those that are proven to be on disk left out.
#[derive(Default)]
pub(crate) struct Unproven {
    pieces: VecDeque<Piece>,
}

impl Unproven {
    /// The next record of the log, and up to which record it proves the log to be on disk.
    pub fn take(&mut self, lsn: u64, durable: u64, sequence: u64, offset: usize, bytes: &[u8]) {
        while self.pieces.pop_front_if(|piece| piece.lsn <= durable).is_some() {}
        self.pieces.push_back(Piece { lsn, sequence, offset: offset as u64, bytes: bytes.to_vec() });
    }

    /// Writes those of a segment again, those that follow each other at once.
    pub fn write_again(&self, sequence: u64, file: &dyn LogFile) -> io::Result<()> {
        let mut run: Option<(u64, Vec<u8>)> = None;
        for piece in self.pieces.iter().filter(|piece| piece.sequence == sequence) {
            match &mut run {
                Some((begin, bytes)) if *begin + bytes.len() as u64 == piece.offset => {
                    bytes.extend_from_slice(&piece.bytes);
                }
                _ => {
                    if let Some((begin, bytes)) = run.replace((piece.offset, piece.bytes.clone())) {
                        file.write_at(begin, &bytes)?;
                    }
                }
            }
        }
        run.map_or(Ok(()), |(begin, bytes)| file.write_at(begin, &bytes))
    }
}
