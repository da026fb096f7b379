// SPDX-License-Identifier: Apache-2.0

//! Sorted records, from memory or merged from runs.

use super::scratch::ScratchFile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, Read};

/// Bytes of the buffer of a run.
pub const BUFFER_BYTES: usize = 16 << 10;

/// Gives them in the order of their bytes.
pub struct Sorted {
    source: Source,
    current: Vec<u8>,
}

enum Source {
    Memory { bytes: Vec<u8>, places: std::vec::IntoIter<(u32, u32)> },
    Runs { readers: Vec<BufReader<Box<dyn ScratchFile>>>, heads: BinaryHeap<Reverse<(Vec<u8>, usize)>> },
}

/// A record's bytes.
pub fn slice(bytes: &[u8], (at, len): (u32, u32)) -> &[u8] {
    &bytes[at as usize..at as usize + len as usize]
}

impl Sorted {
    /// Those in memory, whose places are in order.
    pub fn in_memory(bytes: Vec<u8>, places: Vec<(u32, u32)>) -> Sorted {
        let source = Source::Memory { bytes, places: places.into_iter() };
        Sorted { source, current: Vec::new() }
    }

    /// All records of some runs.
    pub fn of(runs: Vec<Box<dyn ScratchFile>>) -> io::Result<Sorted> {
        let mut readers: Vec<_> = runs.into_iter().map(|run| BufReader::with_capacity(BUFFER_BYTES, run)).collect();
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (number, reader) in readers.iter_mut().enumerate() {
            let mut record = Vec::new();
            if read(reader, &mut record)? {
                heads.push(Reverse((record, number)));
            }
        }
        Ok(Sorted { source: Source::Runs { readers, heads }, current: Vec::new() })
    }

    /// The next record.
    #[expect(clippy::should_implement_trait, reason = "it lends what it gives, and may fail")]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        match &mut self.source {
            Source::Memory { bytes, places } => Ok(places.next().map(|place| slice(bytes, place))),
            Source::Runs { readers, heads } => {
                let Some(Reverse((record, number))) = heads.pop() else { return Ok(None) };
                let mut next = std::mem::replace(&mut self.current, record);
                if read(&mut readers[number], &mut next)? {
                    heads.push(Reverse((next, number)));
                }
                Ok(Some(&self.current))
            }
        }
    }
}

/// Reads a record; false at the end.
fn read(from: &mut impl Read, record: &mut Vec<u8>) -> io::Result<bool> {
    let mut len = [0; 4];
    let mut got = 0;
    while got < len.len() {
        match from.read(&mut len[got..])? {
            0 if got == 0 => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => got += more,
        }
    }
    record.resize(u32::from_le_bytes(len) as usize, 0);
    from.read_exact(record)?;
    Ok(true)
}
