// SPDX-License-Identifier: Apache-2.0

//! A load that measures how long each operation takes: whoever takes a server away wants to know how long applications
//! stood still. It runs as a process of its own (`nyala-e2e-latency-probe`): what hangs in a mount hangs there.
//!
//! Failure model: operations are late or fail; both are written down, with when they began, and the load goes on. The machine
//! itself may stand still: a thread that only sleeps writes down how late it woke, so that this is not held against the file
//! system.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Operations that took longer are written down.
const NOTED: Duration = Duration::from_millis(50);
/// And one in so long, whatever it took: who reads the notes sees that the load goes on.
const SIGN_MS: u64 = 200;
/// Pause between operations: the load is to notice, not to fill the machine.
const REST: Duration = Duration::from_millis(4);
const BLOCK: usize = 64 << 10;
const BLOCKS: u64 = 64;

/// An operation, or a standstill of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// `meta`, `write`, `read` or `machine`.
    pub kind: String,
    /// When it began, milliseconds of the machine's monotonic clock.
    pub began_ms: u64,
    /// How long it took.
    pub took_ms: u64,
    /// What went wrong; empty if nothing did.
    pub error: String,
}

/// The machine's monotonic clock, which all processes share.
pub fn now_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Works in `dir` until the file `stop` appears; writes what took long, and the last line of each kind, to `out`.
pub fn run(dir: &Path, out: &Path, stop: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut data = File::create(dir.join("data"))?;
    for block in 0..BLOCKS {
        data.write_all(&content(block, 0))?;
    }
    data.sync_all()?;
    let out = OpenOptions::new().create(true).append(true).open(out)?;
    std::thread::scope(|scope| {
        scope.spawn(|| beat("meta", &out, stop, |turn| metadata(dir, turn)));
        scope.spawn(|| beat("write", &out, stop, |turn| write(dir, turn)));
        scope.spawn(|| beat("read", &out, stop, |turn| read(dir, turn)));
        scope.spawn(|| machine(&out, stop));
    });
    Ok(())
}

fn note(out: &File, beat: &Beat) {
    let line = format!("{} {} {} {}\n", beat.kind, beat.began_ms, beat.took_ms, beat.error.replace('\n', " "));
    // One call, appending: lines of several threads do not mix. A full disk shows as missing lines, which fails the test.
    let _ = (&*out).write_all(line.as_bytes());
}

fn beat(kind: &str, out: &File, stop: &Path, mut action: impl FnMut(u64) -> std::io::Result<()>) {
    let (mut turn, mut noted_ms) = (0, 0);
    while !stop.exists() {
        turn += 1;
        let (began_ms, began) = (now_ms(), Instant::now());
        let error = action(turn).err().map_or(String::new(), |error| error.to_string());
        let took = began.elapsed();
        if took > NOTED || !error.is_empty() || began_ms >= noted_ms + SIGN_MS {
            noted_ms = began_ms;
            note(out, &Beat { kind: kind.into(), began_ms, took_ms: took.as_millis() as u64, error });
        }
        // sleeps: a pause between operations, as a program makes it
        std::thread::sleep(REST);
    }
    note(out, &Beat { kind: format!("{kind}-turns"), began_ms: now_ms(), took_ms: turn, error: String::new() });
}

fn metadata(dir: &Path, turn: u64) -> std::io::Result<()> {
    let (new, name) = (dir.join(format!("new{turn}")), dir.join(format!("file{turn}")));
    fs::write(&new, turn.to_le_bytes())?;
    fs::rename(&new, &name)?;
    if fs::read(&name)? != turn.to_le_bytes() {
        return Err(std::io::Error::other(format!("file{turn} holds something else")));
    }
    fs::remove_file(&name)
}

/// What a block holds in a turn: its first bytes say it, the rest follows from them.
fn content(block: u64, turn: u64) -> Vec<u8> {
    let head = [block.to_le_bytes(), turn.to_le_bytes()].concat();
    head.iter().copied().cycle().take(BLOCK).collect()
}

fn write(dir: &Path, turn: u64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(dir.join("data"))?;
    let block = turn * 7 % BLOCKS;
    file.seek(SeekFrom::Start(block * BLOCK as u64))?;
    file.write_all(&content(block, turn))?;
    file.sync_data()
}

/// Any turn's content is right, if it is one turn's and the block's own. The page cache is told to forget first.
fn read(dir: &Path, turn: u64) -> std::io::Result<()> {
    let mut file = File::open(dir.join("data"))?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    let block = turn * 11 % BLOCKS;
    file.seek(SeekFrom::Start(block * BLOCK as u64))?;
    let mut got = vec![0; 4096];
    file.read_exact(&mut got)?;
    let head: Vec<u8> = got[..16].to_vec();
    let whole = got.iter().zip(head.iter().cycle()).all(|(a, b)| a == b);
    let right = head[..8] == block.to_le_bytes() && whole;
    if right { Ok(()) } else { Err(std::io::Error::other(format!("block {block} holds something else: {head:?}"))) }
}

/// Notes when this machine gave us no processor for long.
fn machine(out: &File, stop: &Path) {
    while !stop.exists() {
        let (began_ms, began) = (now_ms(), Instant::now());
        // sleeps: how late this wakes is what is measured
        std::thread::sleep(Duration::from_millis(10));
        let late = began.elapsed().saturating_sub(Duration::from_millis(10));
        if late > NOTED {
            note(
                out,
                &Beat { kind: "machine".into(), began_ms, took_ms: late.as_millis() as u64, error: String::new() },
            );
        }
    }
}

/// Reads what a load wrote down so far.
pub fn beats(out: &Path) -> Vec<Beat> {
    let text = fs::read_to_string(out).unwrap_or_default();
    let beat = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let kind = words.next()?.to_owned();
        let (began_ms, took_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Beat { kind, began_ms, took_ms, error: words.next().unwrap_or_default().to_owned() })
    };
    text.lines().filter_map(beat).collect()
}
