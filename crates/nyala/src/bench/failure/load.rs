// SPDX-License-Identifier: Apache-2.0

//! The load of the failure study: threads that write and threads that read blocks of 1 MiB, past the kernel's page cache,
//! and note of each when it began, when it ended and what went wrong.
//!
//! **Failure model.** Operations are late or fail: noted, and the thread goes on. A block that does not hold what was written
//! there is an error like any other.

use super::figures::Sample;
use crate::exit::{Failure, io};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BLOCK: usize = 1 << 20;
/// Blocks of each file: more than clients keep.
const BLOCKS: u64 = 96;
/// What direct I/O wants buffers to be aligned to.
const ALIGN: usize = 4096;
/// After an error, a thread rests so long.
const REST: Duration = Duration::from_millis(100);
/// Bytes at a block's start that say which block it is.
const HEAD: usize = 8;

#[derive(Default)]
struct Notes {
    samples: Mutex<Vec<Sample>>,
    errors: Mutex<Vec<String>>,
    ended: AtomicBool,
}

/// A load under way.
pub struct Load {
    began: Instant,
    notes: Arc<Notes>,
    threads: Vec<JoinHandle<()>>,
}

/// A buffer for direct I/O.
struct Aligned {
    bytes: Vec<u8>,
    from: usize,
}

impl Aligned {
    fn new() -> Aligned {
        let bytes = vec![0; BLOCK + ALIGN];
        let from = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        Aligned { bytes, from }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + BLOCK]
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::DIRECT;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600));
    file.map(File::from).map_err(|error| Failure::failed(format!("cannot open {}: {error}", path.display())))
}

/// Blocks are told apart by their first bytes.
fn fill(buffer: &mut [u8], block: u64, turn: u64) {
    buffer[..HEAD].copy_from_slice(&block.to_le_bytes());
    buffer[HEAD..2 * HEAD].copy_from_slice(&turn.to_le_bytes());
}

impl Load {
    /// Lays out the files that are read, then begins.
    pub fn start(directory: &Path, tasks: u16) -> Result<Load, Failure> {
        let path = |kind: &str, task: u16| directory.join(format!("{kind}{task}"));
        for task in 0..tasks {
            let (read, mut buffer) = (open(&path("read", task))?, Aligned::new());
            buffer.get().fill(0x5a);
            for block in 0..BLOCKS {
                fill(buffer.get(), block, 0);
                read.write_all_at(buffer.get(), block * BLOCK as u64).map_err(io(directory.display()))?;
            }
            read.sync_all().map_err(io(directory.display()))?;
        }
        let (began, notes) = (Instant::now(), Arc::new(Notes::default()));
        let mut threads = Vec::new();
        for task in 0..tasks {
            for write in [true, false] {
                let file = open(&path(if write { "write" } else { "read" }, task))?;
                let notes = notes.clone();
                threads.push(std::thread::spawn(move || work(&file, write, task, began, &notes)));
            }
        }
        Ok(Load { began, notes, threads })
    }

    /// Seconds since it began.
    pub fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Ends it: all samples by the time of their end, and all errors.
    pub fn stop(self) -> (Vec<Sample>, Vec<String>) {
        self.notes.ended.store(true, Ordering::Relaxed);
        for thread in self.threads {
            if thread.join().is_err() {
                self.notes.errors.lock().push("a thread of the load ended in a panic".to_owned());
            }
        }
        let mut samples = std::mem::take(&mut *self.notes.samples.lock());
        samples.sort_by(|a, b| a.end_s.total_cmp(&b.end_s));
        (samples, std::mem::take(&mut *self.notes.errors.lock()))
    }
}

fn work(file: &File, write: bool, task: u16, began: Instant, notes: &Notes) {
    let mut buffer = Aligned::new();
    let mut turn = u64::from(task);
    while !notes.ended.load(Ordering::Relaxed) {
        turn += 1;
        // Writers go through their file in order, readers jump.
        let block = if write { turn % BLOCKS } else { turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 } % BLOCKS;
        let at = block * BLOCK as u64;
        let start = began.elapsed().as_secs_f64();
        let result = if write {
            fill(buffer.get(), block, turn);
            file.write_all_at(buffer.get(), at)
        } else {
            file.read_exact_at(buffer.get(), at).and_then(|()| {
                let right = buffer.get()[..HEAD] == block.to_le_bytes();
                right.then_some(()).ok_or_else(|| std::io::Error::other("the block holds something else"))
            })
        };
        let end_s = began.elapsed().as_secs_f64();
        match result {
            Ok(()) => notes.samples.lock().push(Sample { start_s: start, end_s, write, bytes: BLOCK as u64 }),
            Err(error) => {
                let what = if write { "write" } else { "read" };
                notes.errors.lock().push(format!("{what} of block {block} at {start:.2} s: {error}"));
                std::thread::sleep(REST);
            }
        }
    }
}
