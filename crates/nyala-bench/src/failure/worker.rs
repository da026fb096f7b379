// SPDX-License-Identifier: Apache-2.0

//! The process of the load: threads that write and threads that read blocks of 1 MiB, past the kernel's page cache, and note of each
//! operation when it began, when it ended and what went wrong. What they note serves others, too ([`Notes`]).
//!
//! **Failure model.** Operations are late or fail: noted, and the thread goes on. A block that does not hold what was written
//! there is an error like any other. Whoever wants the load is gone: the input ends, and so does the load.

use super::figures::Sample;
use super::load::{BEGUN, LoadReport};
use crate::error::{BenchError, io};
use nyala_transport::aligned::Aligned;
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BLOCK: usize = 1 << 20;
/// After an error, a thread rests so long.
const REST: Duration = Duration::from_millis(100);
/// Bytes at a block's start that say which block it is.
const HEAD: usize = 8;

/// What threads note.
#[derive(Default)]
pub(super) struct Notes {
    samples: Mutex<Vec<Sample>>,
    errors: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl Notes {
    /// Whether the load is to end.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Does an operation of so many bytes and notes it; after an error the thread rests.
    pub fn timed(
        &self,
        began: Instant,
        write: bool,
        bytes: u64,
        what: impl Fn() -> String,
        does: impl FnOnce() -> std::io::Result<()>,
    ) {
        let start_s = began.elapsed().as_secs_f64();
        let result = does();
        let end_s = began.elapsed().as_secs_f64();
        match result {
            Ok(()) => self.samples.lock().push(Sample { start_s, end_s, write, bytes }),
            Err(error) => {
                self.errors.lock().push(format!("{} at {start_s:.2} s: {error}", what()));
                std::thread::sleep(REST);
            }
        }
    }
}

fn open(path: &Path) -> Result<File, BenchError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600));
    file.map(File::from).map_err(|error| BenchError::failed(format!("cannot open {}: {error}", path.display())))
}

/// Blocks are told apart by their first bytes.
fn fill(buffer: &mut [u8], block: u64, turn: u64) {
    buffer[..HEAD].copy_from_slice(&block.to_le_bytes());
    buffer[HEAD..2 * HEAD].copy_from_slice(&turn.to_le_bytes());
}

/// Tells the study; the process ends when nobody listens.
fn say(text: &str) -> Result<(), BenchError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(io("cannot write to standard output"))
}

/// What a thread does until the load has ended.
pub(super) type Job<'a> = Box<dyn Fn(Instant, &Notes) + Send + Sync + 'a>;

/// Has each job done by a thread until the input ends, and tells what they noted.
pub(super) fn until_end(jobs: &[Job<'_>]) -> Result<(), BenchError> {
    say(&format!("{BEGUN}\n"))?;
    let (began, notes) = (Instant::now(), Notes::default());
    std::thread::scope(|scope| {
        for job in jobs {
            let notes = &notes;
            scope.spawn(move || job(began, notes));
        }
        // why ignored: an error of the input is its end.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        notes.ended.store(true, Ordering::Relaxed);
    });
    let (mut samples, errors) = (notes.samples.into_inner(), notes.errors.into_inner());
    samples.sort_by(|a, b| a.end_s.total_cmp(&b.end_s));
    let told = serde_json::to_string(&LoadReport { samples, errors });
    say(&told.map_err(|error| BenchError::failed(format!("cannot write JSON: {error}")))?)
}

/// The load's own process: until its input ends.
pub fn run(directory: &Path, tasks: u16, file_bytes: u64) -> Result<(), BenchError> {
    let blocks = (file_bytes / BLOCK as u64).max(1);
    let path = |kind: &str, task: u16| directory.join(format!("{kind}{task}"));
    for task in 0..tasks {
        let (read, mut buffer) = (open(&path("read", task))?, Aligned::new(BLOCK));
        let buffer = &mut buffer[..BLOCK];
        buffer.fill(0x5a);
        for block in 0..blocks {
            fill(buffer, block, 0);
            read.write_all_at(buffer, block * BLOCK as u64).map_err(io(directory.display()))?;
        }
        read.sync_all().map_err(io(directory.display()))?;
    }
    let files: Vec<(bool, u16)> = (0..tasks).flat_map(|task| [(true, task), (false, task)]).collect();
    let files: Vec<(bool, u16, File)> = files
        .into_iter()
        .map(|(write, task)| Ok((write, task, open(&path(if write { "write" } else { "read" }, task))?)))
        .collect::<Result<_, BenchError>>()?;
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for (write, task, file) in &files {
        jobs.push(Box::new(move |began, notes| work(file, *write, (*task, blocks), began, notes)));
    }
    until_end(&jobs)
}

fn work(file: &File, write: bool, (task, blocks): (u16, u64), began: Instant, notes: &Notes) {
    let mut memory = Aligned::new(BLOCK);
    let buffer = &mut memory[..BLOCK];
    let mut turn = u64::from(task);
    while !notes.ended() {
        turn += 1;
        // Writers go through their file in order, readers jump.
        let block = if write { turn } else { turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 } % blocks;
        let at = block * BLOCK as u64;
        let what = || format!("{} of block {block}", if write { "write" } else { "read" });
        notes.timed(began, write, BLOCK as u64, what, || {
            if write {
                fill(buffer, block, turn);
                return file.write_all_at(buffer, at);
            }
            file.read_exact_at(buffer, at)?;
            let right = buffer[..HEAD] == block.to_le_bytes();
            right.then_some(()).ok_or_else(|| std::io::Error::other("the block holds something else"))
        });
    }
}
