// SPDX-License-Identifier: Apache-2.0

//! A file as a register: on every mount one process writes it and one reads it, at full speed. No read may return a
//! value older than one whose write had returned before the read began (a regular register).
//!
//! A value is (writer, number), in every word of the file. Each writer notes when each of its writes began and returned. A
//! word read is stale if its write returned before another began that itself returned before the read began.

use super::arena::{Arena, now};
use super::{gang, number};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;

/// Length of the file when its content lies with its inode, and when it lies on storage targets; multiples of 8.
const SMALL: usize = 96;
const LARGE: usize = 100_000;
/// Reports of one reader.
const MOST_REPORTS: usize = 5;

/// How the words of the arena are used, and what the test was asked for.
struct Plan {
    arena: Arena,
    mounts: usize,
    steps: usize,
    size: usize,
    turns: bool,
    /// Only what other mounts wrote is looked for.
    others: bool,
}

impl Plan {
    /// How many writes of one writer have returned.
    fn returned(&self, writer: usize) -> usize {
        self.arena.word(writer).load(SeqCst) as usize
    }

    /// When a write began (`what` 0) or returned (`what` 1); 0: not yet.
    fn time(&self, writer: usize, seq: usize, what: usize) -> &std::sync::atomic::AtomicU64 {
        self.arena.word(self.mounts * 2 + (writer * self.steps + seq - 1) * 2 + what)
    }

    /// How many writers are done.
    fn done(&self) -> &std::sync::atomic::AtomicU64 {
        self.arena.word(self.mounts)
    }
}

/// Coordinates: `STEPS small|large [turns|together|turns-others|together-others] DIR…`.
pub fn run(args: &[&str]) -> Result<(), String> {
    let (steps, size, order, dirs) = match args {
        [
            steps,
            size @ ("small" | "large"),
            order @ ("turns" | "together" | "turns-others" | "together-others"),
            dirs @ ..,
        ] => (steps, size, *order, dirs),
        [steps, size @ ("small" | "large"), dirs @ ..] => (steps, size, "turns", dirs),
        _ => return Err(super::USAGE.to_owned()),
    };
    if dirs.is_empty() {
        return Err(super::USAGE.to_owned());
    }
    let steps = number::<usize>(steps)?.div_ceil(dirs.len());
    let size = if *size == "small" { SMALL } else { LARGE };
    let arena = Arena::new(dirs.len() * 2 + dirs.len() * steps * 2);
    std::fs::write(register(dirs[0]), vec![0_u8; size]).map_err(|error| format!("making the register: {error}"))?;
    let worker = |role: &str, index: usize| -> Vec<String> {
        let path = arena.path();
        let (index, mounts) = (index.to_string(), dirs.len().to_string());
        let (steps, size) = (steps.to_string(), size.to_string());
        let dir = dirs[index.parse::<usize>().unwrap_or(0)];
        ["registers", &path, role, &index, &mounts, &steps, &size, order, dir].map(str::to_owned).to_vec()
    };
    let workers: Vec<_> =
        (0..dirs.len()).flat_map(|index| [worker("writer", index), worker("reader", index)]).collect();
    gang::run(&arena, &workers)
}

fn register(dir: &str) -> PathBuf {
    Path::new(dir).join("register")
}

/// One worker: `ARENA writer|reader INDEX MOUNTS STEPS SIZE ORDER DIR`.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let [arena, role, index, mounts, steps, size, order, dir] = args else { return Err(super::USAGE.to_owned()) };
    let plan = Plan {
        arena: Arena::open(arena)?,
        mounts: number(mounts)?,
        steps: number(steps)?,
        size: number(size)?,
        turns: order.starts_with("turns"),
        others: order.ends_with("-others"),
    };
    let (index, path) = (number(index)?, register(dir));
    plan.arena.meet(plan.mounts as u64 * 2);
    let result = if *role == "writer" { write(&plan, index, &path) } else { read(&plan, index, &path) };
    if *role == "writer" {
        plan.done().fetch_add(1, SeqCst);
    }
    result
}

/// Writes one value after the other.
fn write(plan: &Plan, writer: usize, path: &Path) -> Result<(), String> {
    for seq in 1..=plan.steps {
        if plan.turns && !plan.arena.wait_turn(writer as u64) || plan.arena.stopped() {
            return Ok(());
        }
        let value = ((writer as u64) << 48 | seq as u64).to_le_bytes().repeat(plan.size / 8);
        let fail = |what: &str, error| format!("mount {writer}: {what} for write {seq}: {error}");
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| fail("open", error))?;
        plan.time(writer, seq, 0).store(now(), SeqCst);
        file.write_all_at(&value, 0).map_err(|error| fail("pwrite", error))?;
        plan.time(writer, seq, 1).store(now(), SeqCst);
        plan.arena.word(writer).store(seq as u64, SeqCst);
        drop(file);
        if plan.turns {
            plan.arena.turn().store((writer as u64 + 1) % plan.mounts as u64, SeqCst);
        }
    }
    Ok(())
}

/// Reads until every writer is done.
fn read(plan: &Plan, reader: usize, path: &Path) -> Result<(), String> {
    let mut bytes = vec![0_u8; plan.size];
    let (mut reports, mut reads) = (Vec::new(), 0_u64);
    loop {
        let last = plan.done().load(SeqCst) == plan.mounts as u64 || plan.arena.stopped();
        let fail = |what: &str, error| format!("mount {reader}: {what} for read {reads}: {error}");
        let opening = now();
        let file = File::open(path).map_err(|error| fail("open", error))?;
        let before: Vec<usize> = (0..plan.mounts).map(|writer| plan.returned(writer)).collect();
        let began = now();
        file.read_exact_at(&mut bytes, 0).map_err(|error| fail("pread", error))?;
        let ended = now();
        drop(file);
        reads += 1;
        if let Some(stale) = stale(plan, reader, &bytes, &before) {
            let times = format!("opened {opening} read {began}..{ended}");
            reports.push(format!("mount {reader} read {reads}: {stale}; {times}"));
        }
        if last || reports.len() == MOST_REPORTS {
            break;
        }
    }
    if reports.is_empty() { Ok(()) } else { Err(reports.join("\n")) }
}

/// What is wrong with a read: `before` says how many writes of each writer had returned when it began.
fn stale(plan: &Plan, reader: usize, bytes: &[u8], before: &[usize]) -> Option<String> {
    let mut looked_at = None;
    for (at, word) in bytes.chunks_exact(8).enumerate() {
        let value = u64::from_le_bytes(word.try_into().expect("a chunk of 8 bytes has 8 bytes"));
        if looked_at.replace(value) == Some(value) {
            continue;
        }
        let (writer, seq) = ((value >> 48) as usize, (value & ((1 << 48) - 1)) as usize);
        if value != 0 && (writer >= plan.mounts || seq == 0 || seq > plan.steps) {
            return Some(format!("word {at} is {value:#x}, which nobody wrote"));
        }
        let old = match seq {
            0 => 1,
            _ if plan.time(writer, seq, 0).load(SeqCst) == 0 => {
                return Some(format!("word {at} is write {seq} of mount {writer}, which has not begun"));
            }
            _ => plan.time(writer, seq, 1).load(SeqCst),
        };
        if old == 0 {
            continue;
        }
        for (other, &newest) in before.iter().enumerate().filter(|(_, newest)| **newest > 0) {
            let [began, returned] = [0, 1].map(|what| plan.time(other, newest, what).load(SeqCst));
            if began > old && !(plan.others && other == reader) {
                return Some(format!(
                    "word {at} is write {seq} of mount {writer} (returned {old}), but write {newest} of mount {other} \
                     ({began}..{returned}) had returned before the read began"
                ));
            }
        }
    }
    None
}
