// SPDX-License-Identifier: Apache-2.0

//! Sorts any number of byte strings in bounded memory: sorted runs go to files, and are merged.
//!
//! **Failure model.** The files may fail to be written or read back: that is an error, never a record less. They are private to the
//! run, and are not checked for damage.

mod merge;
mod scratch;

pub use merge::Sorted;
pub use scratch::{MemScratch, Scratch, ScratchFile};

use merge::{BUFFER_BYTES, slice};
use std::io::{self, BufWriter, Seek, Write};

/// Runs that are merged at once: each has a buffer.
const MOST_RUNS: usize = 64;
/// What a record takes beside its bytes: where it is.
const PLACE_BYTES: usize = size_of::<(u32, u32)>();

/// Takes records in any order.
pub struct Sorter {
    limit: usize,
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
    runs: Vec<Box<dyn ScratchFile>>,
    records: u64,
}

impl Sorter {
    /// One that holds at most about `limit` bytes in memory.
    pub fn new(limit: usize) -> Sorter {
        let limit = limit.clamp(4 << 10, u32::MAX as usize);
        Sorter { limit, bytes: Vec::new(), places: Vec::new(), runs: Vec::new(), records: 0 }
    }

    /// Bytes in memory now.
    pub fn in_memory(&self) -> usize {
        self.bytes.len() + self.places.len() * PLACE_BYTES
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Takes a record.
    pub fn push(&mut self, scratch: &mut dyn Scratch, record: &[u8]) -> io::Result<()> {
        if !self.places.is_empty() && self.in_memory() + record.len() + PLACE_BYTES > self.limit {
            self.spill(scratch)?;
        }
        let (Ok(at), Ok(len)) = (u32::try_from(self.bytes.len()), u32::try_from(record.len())) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        self.bytes.extend_from_slice(record);
        self.places.push((at, len));
        self.records += 1;
        Ok(())
    }

    /// All records in order.
    pub fn finish(mut self, scratch: &mut dyn Scratch) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::in_memory(self.bytes, self.places));
        }
        self.spill(scratch)?;
        Sorted::of(self.runs)
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places.sort_unstable_by(|a, b| slice(bytes, *a).cmp(slice(bytes, *b)));
    }

    fn spill(&mut self, scratch: &mut dyn Scratch) -> io::Result<()> {
        if self.runs.len() == MOST_RUNS {
            let mut all = Sorted::of(std::mem::take(&mut self.runs))?;
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, scratch.file()?);
            while let Some(record) = all.next()? {
                write(&mut out, record)?;
            }
            self.runs.push(rewound(out)?);
        }
        self.sort();
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, scratch.file()?);
        for place in &self.places {
            write(&mut out, slice(&self.bytes, *place))?;
        }
        self.runs.push(rewound(out)?);
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }
}

fn write(out: &mut impl Write, record: &[u8]) -> io::Result<()> {
    out.write_all(&(record.len() as u32).to_le_bytes())?;
    out.write_all(record)
}

fn rewound(out: BufWriter<Box<dyn ScratchFile>>) -> io::Result<Box<dyn ScratchFile>> {
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn sorted(records: &[Vec<u8>], limit: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut scratch, mut sorter) = (MemScratch::default(), Sorter::new(limit));
        for record in records {
            sorter.push(&mut scratch, record).unwrap();
            assert!(sorter.in_memory() <= sorter.limit, "{} of {}", sorter.in_memory(), sorter.limit);
        }
        let (mut sorted, mut all) = (sorter.finish(&mut scratch).unwrap(), Vec::new());
        while let Some(record) = sorted.next().unwrap() {
            all.push(record.to_vec());
        }
        (all, scratch.files)
    }

    proptest! {
        #[test]
        fn all_come_back_in_order(records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..2000)) {
            let mut expected = records.clone();
            expected.sort();
            prop_assert_eq!(&sorted(&records, 1 << 30).0, &expected);
            prop_assert_eq!(&sorted(&records, 0).0, &expected);
        }
    }

    #[test]
    fn many_runs_are_merged_in_turn() {
        let records: Vec<Vec<u8>> =
            (0..100_000_u32).map(|n| n.wrapping_mul(0x9e37_79b1).to_le_bytes().to_vec()).collect();
        let mut expected = records.clone();
        expected.sort();
        let (all, files) = sorted(&records, 0);
        assert_eq!(all, expected);
        assert!(files > 2 * MOST_RUNS, "{files}");
        assert_eq!(sorted(&records, 1 << 30).1, 0, "what fits needs no file");
    }

    /// A file that gives back fewer bytes than it took.
    struct Cut(io::Cursor<Vec<u8>>, usize);

    impl Read for Cut {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let most = buf.len().min(self.1);
            self.1 -= most;
            self.0.read(&mut buf[..most])
        }
    }

    impl Write for Cut {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.write(data)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Cut {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    struct Cutting;

    impl Scratch for Cutting {
        fn file(&mut self) -> io::Result<Box<dyn ScratchFile>> {
            Ok(Box::new(Cut(io::Cursor::new(Vec::new()), 1001)))
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let mut sorter = Sorter::new(0);
        (0..2000_u32).for_each(|n| sorter.push(&mut Cutting, &[n as u8; 16]).unwrap());
        let mut sorted = sorter.finish(&mut Cutting).unwrap();
        let error = loop {
            match sorted.next() {
                Ok(record) => assert!(record.is_some(), "records are missing"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
