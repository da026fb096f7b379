// SPDX-License-Identifier: Apache-2.0

//! Records of odd lengths appended to one file from all mounts: none is lost, torn, doubled or out of its writer's order.

use super::arena::Arena;
use super::crew::{self, Member};
use super::number;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Coordinates: `STEPS DIR…`, two workers on each mount: one keeps the file open, one opens it for every record.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [steps, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let workers = dirs.len() * 2;
    let each = number::<usize>(steps)?.div_ceil(workers.max(1));
    crew::run("appends", &Arena::new(0), workers, dirs, &[each.to_string()])?;
    dirs.iter().try_for_each(|dir| verify(Path::new(dir), workers, each))
}

/// A record, which no other equals.
fn record(index: usize, seq: usize) -> Vec<u8> {
    let len = (seq * 733 + index * 1291) % 2999;
    let mut record = format!("<{index}:{seq}:").into_bytes();
    record.resize(record.len() + len, b'a' + index as u8 % 26);
    record.extend_from_slice(b">\n");
    record
}

/// One worker.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let me = Member::new(args)?;
    let open = || OpenOptions::new().append(true).create(true).open(me.dir.join("log"));
    let mut kept: Option<File> = None;
    if !me.meet(1) {
        return Ok(());
    }
    for seq in 0..me.number(0)? {
        if me.arena.stopped() {
            return Ok(());
        }
        let record = record(me.index, seq);
        let mut file = match kept.take() {
            Some(file) => file,
            None => open().map_err(|error| me.fail(format!("open for record {seq}"), error))?,
        };
        let written = file.write(&record).map_err(|error| me.fail(format!("record {seq}"), error))?;
        if written != record.len() {
            return Err(me.fail(format!("record {seq}"), format!("{written} of {} bytes written", record.len())));
        }
        if me.index < me.total / 2 {
            kept = Some(file);
        }
    }
    Ok(())
}

/// Every record is in the file, whole, once, and in its writer's order.
fn verify(dir: &Path, workers: usize, each: usize) -> Result<(), String> {
    let path = dir.join("log");
    let log = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut next = vec![0; workers];
    for (line, got) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(index) = (0..workers).find(|index| next[*index] < each && record(*index, next[*index]) == got) else {
            let shown = String::from_utf8_lossy(&got[..got.len().min(40)]).into_owned();
            return Err(format!(
                "{}: record {line} ({} bytes) is {shown:?}, expected next {next:?}",
                path.display(),
                got.len()
            ));
        };
        next[index] += 1;
    }
    match next.iter().position(|count| *count != each) {
        Some(index) => Err(format!("{}: {} records of worker {index}, not {each}", path.display(), next[index])),
        None => Ok(()),
    }
}
