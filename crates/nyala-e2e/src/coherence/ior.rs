// SPDX-License-Identifier: Apache-2.0

//! In the manner of ior-hard: tasks write interleaved records of 47,008 bytes into one file, read those of their neighbours
//! (on other mounts) back, and in the end the whole file is compared byte for byte on every mount.

use super::arena::Arena;
use super::crew::{self, Member, byte};
use super::number;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of a record; no multiple of any page, block or chunk.
const RECORD: usize = 47_008;
/// Bytes before the first record in a `headed` file.
const HEAD: usize = 1000;
/// Tasks.
const TASKS: usize = 8;

/// Coordinates: `SEGMENTS cached|direct|headed DIR…`; each task writes one record in each segment, through the kernel's cache or past
/// it (`O_DIRECT`). `headed`: cached, and the file begins with a few bytes, which metadata keeps until the records come.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [segments, how @ ("cached" | "direct" | "headed"), dirs @ ..] = args else {
        return Err(super::USAGE.to_owned());
    };
    let segments: usize = number(segments)?;
    if *how == "headed" {
        let path = dirs.first().map(|dir| Path::new(dir).join("ior")).ok_or(super::USAGE)?;
        std::fs::write(&path, head()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    crew::run("ior", &Arena::new(0), TASKS, dirs, &[segments.to_string(), (*how).to_owned()])?;
    for dir in dirs {
        let path = Path::new(dir).join("ior");
        let fail = |error: String| format!("{}: {error}", path.display());
        let file = File::open(&path).map_err(|error| fail(error.to_string()))?;
        let len = file.metadata().map_err(|error| fail(error.to_string()))?.len();
        let (head, want) = (if *how == "headed" { head() } else { Vec::new() }, offset_of(segments, 0, how));
        if len != want {
            return Err(fail(format!("{len} bytes instead of {want}")));
        }
        let mut got = vec![0; head.len()];
        file.read_exact_at(&mut got, 0).map_err(|error| fail(error.to_string()))?;
        if got != head {
            return Err(fail("what was there before is not there any more".to_owned()));
        }
        for number in 0..segments * TASKS {
            verify(&file, number / TASKS, number % TASKS, how).map_err(fail)?;
        }
    }
    Ok(())
}

/// What is in the file before the records.
fn head() -> Vec<u8> {
    (0..HEAD as u64).map(|at| byte(at, TASKS as u64, 0)).collect()
}

fn offset_of(segment: usize, task: usize, how: &str) -> u64 {
    let head = if how == "headed" { HEAD } else { 0 };
    (head + (segment * TASKS + task) * RECORD) as u64
}

fn record(segment: usize, task: usize, how: &str) -> Vec<u8> {
    let start = offset_of(segment, task, how);
    (start..start + RECORD as u64).map(|at| byte(at, task as u64, segment as u64)).collect()
}

fn verify(file: &File, segment: usize, task: usize, how: &str) -> Result<(), String> {
    let mut got = vec![0; RECORD];
    file.read_exact_at(&mut got, offset_of(segment, task, how))
        .map_err(|error| format!("read of segment {segment} task {task}: {error}"))?;
    let want = record(segment, task, how);
    match got.iter().zip(&want).position(|(got, want)| got != want) {
        Some(at) => {
            let count = got.iter().zip(&want).filter(|(got, want)| got != want).count();
            Err(format!("segment {segment} task {task}: {count} wrong bytes, the first at {at} is {}", got[at]))
        }
        None => Ok(()),
    }
}

/// One task.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let me = Member::new(args)?;
    let segments = me.number(0)?;
    if !me.meet(1) {
        return Ok(());
    }
    let path = me.dir.join("ior");
    let how = me.args.get(1).map_or("", |how| how.as_ref());
    let flags = if how == "direct" { libc::O_DIRECT } else { 0 };
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(flags).open(&path);
    let file = open.map_err(|error| me.fail("open", error))?;
    for segment in 0..segments {
        let data = record(segment, me.index, how);
        file.write_all_at(&data, offset_of(segment, me.index, how))
            .map_err(|error| me.fail(format!("segment {segment}"), error))?;
    }
    file.sync_all().map_err(|error| me.fail("fsync", error))?;
    drop(file);
    if !me.meet(2) {
        return Ok(());
    }
    let file = File::open(&path).map_err(|error| me.fail("open to read", error))?;
    let neighbour = (me.index + 1) % me.total;
    (0..segments)
        .try_for_each(|segment| verify(&file, segment, neighbour, how).map_err(|wrong| me.fail("read back", wrong)))
}
