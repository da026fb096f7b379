// SPDX-License-Identifier: Apache-2.0

//! A number in a file that everybody reads, adds one to and writes under a lock: nobody is in there with another, nobody
//! reads an old number, and in the end it is the number of rounds.

use super::arena::Arena;
use super::crew::{self, Member};
use super::number;
use crate::file_locks::{self, Kind, Way};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

/// Coordinates: `ROUNDS flock|fcntl|ofd DIR…`, two workers on each mount.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [rounds, way, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let workers = dirs.len() * 2;
    let each = number::<usize>(rounds)?.div_ceil(workers.max(1));
    let path = Path::new(dirs.first().ok_or(super::USAGE)?).join("counter");
    std::fs::write(&path, 0_u64.to_le_bytes()).map_err(|error| format!("{}: {error}", path.display()))?;
    crew::run("counters", &Arena::new(2), workers, dirs, &[each.to_string(), (*way).to_owned()])?;
    for dir in dirs {
        let path = Path::new(dir).join("counter");
        let got =
            File::open(&path).and_then(|file| get(&file)).map_err(|error| format!("{}: {error}", path.display()))?;
        if got != (workers * each) as u64 {
            return Err(format!("{} is {got} after {} rounds", path.display(), workers * each));
        }
    }
    Ok(())
}

fn get(file: &File) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(u64::from_le_bytes(bytes))
}

/// One worker; of each mount's, one opens the file anew for every round and lets the close give the lock up.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let me = Member::new(args)?;
    let way = Way::parse(me.args.get(1).map_or("", String::as_str)).ok_or(super::USAGE)?;
    let open = || OpenOptions::new().read(true).write(true).open(me.dir.join("counter"));
    let (inside, current) = (me.arena.word(0), me.arena.word(1));
    let mut kept = None;
    if !me.meet(1) {
        return Ok(());
    }
    for round in 0..me.number(0)? {
        if me.arena.stopped() {
            return Ok(());
        }
        let step = |what| move |error| (what, error);
        let mut work = || -> Result<(File, Option<String>), (&str, std::io::Error)> {
            let file = kept.take().map_or_else(open, Ok).map_err(step("open"))?;
            file_locks::set(&file, way, Kind::Write, 0, 0, true).map_err(step("lock"))?;
            let others = inside.fetch_add(1, SeqCst);
            let (got, want) = (get(&file).map_err(step("read"))?, current.load(SeqCst));
            file.write_all_at(&(got + 1).to_le_bytes(), 0).map_err(step("write"))?;
            current.store(got + 1, SeqCst);
            inside.fetch_sub(1, SeqCst);
            if me.index < me.total / 2 {
                file_locks::set(&file, way, Kind::Unlock, 0, 0, false).map_err(step("unlock"))?;
            }
            let wrong = match (others, got == want) {
                (0, true) => None,
                (0, false) => Some(format!("read {got} under the lock, {want} was written before")),
                _ => Some("somebody else has the lock too".to_owned()),
            };
            Ok((file, wrong))
        };
        match work() {
            Ok((file, None)) => kept = (me.index < me.total / 2).then_some(file),
            Ok((_, Some(wrong))) => return Err(me.fail(format!("round {round}"), wrong)),
            Err((what, error)) => return Err(me.fail(format!("round {round}: {what}"), error)),
        }
    }
    Ok(())
}
