// SPDX-License-Identifier: Apache-2.0

//! What older versions of rows cost, for snapshots (decision 0038): `cargo run -p nyala-store --example version_rows`.
//!
//! 1,000 directories of 100 rows (17 bytes of key, 120 of value). Between two snapshots one row in a hundred changes, and every row
//! of 10 directories. Versions lie *beside* the newest rows, under a tag of their own, with a row that says which number has
//! which (`Beside`); or *among* them, under the same key with the number behind it, newest first (`Among`). CPU of this process.

use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use nyala_store::{Batch, Options, Store, StoreError};
use nyala_wire::splitmix::{GAMMA, mix};

const DIRS: u64 = 1_000;
const NAMES: u64 = 100;
const BUSY_DIRS: u64 = 10;
const VALUE_BYTES: usize = 120;
const LOOKUPS: u64 = 100_000;
const CHANGES: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Beside,
    Among,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("                  |       now, µs      |  oldest snapshot, µs  | change, µs    | bytes on disk");
    println!("layout  snapshots | lookup quiet  busy | lookup quiet     busy | first  second | of one version");
    let mut bytes_without = 0.0;
    for layout in [Layout::Beside, Layout::Among] {
        for snapshots in [0, 1, 10, 100] {
            let dir = std::env::temp_dir().join(format!("nyala-version-rows-{}", std::process::id()));
            let bytes = run(&dir, layout, snapshots, bytes_without);
            std::fs::remove_dir_all(&dir)?;
            let bytes = bytes?;
            bytes_without = if snapshots == 0 { bytes } else { bytes_without };
        }
    }
    Ok(())
}

/// Makes the rows, measures, and says how many bytes they take on disk.
fn run(dir: &std::path::Path, layout: Layout, snapshots: u64, without: f64) -> Result<f64, StoreError> {
    let (store, _) = Store::open(dir, Options { manual: true, ..Options::default() })?;
    let mut tables = Tables { store, layout, newest: 0, random: 0, versions: 0 };
    (0..DIRS * NAMES).try_for_each(|row| tables.change(row))?;
    for number in 1..=snapshots {
        tables.newest = number;
        let busy = 0..BUSY_DIRS * NAMES;
        busy.clone().try_for_each(|row| tables.change(row))?;
        (0..DIRS * NAMES / 100).try_for_each(|_| tables.change_any())?;
    }
    tables.store.checkpoint_blocking()?;
    let bytes = used_bytes(&dir.join("table"));
    let one = if snapshots == 0 { 0.0 } else { (bytes - without) / tables.versions as f64 };
    let lookup = |at| timed(LOOKUPS, |n| tables.lookup(row_key(mix(n) % (DIRS * NAMES)), at));
    let list = |busy: bool, at| {
        let first = if busy { 0 } else { BUSY_DIRS };
        let all = timed(100, |n| tables.list(first + n % BUSY_DIRS, at).map(|names| assert_eq!(names, NAMES)))?;
        Ok::<_, StoreError>(all / NAMES as f64)
    };
    let now = (lookup(None)?, list(false, None)?, list(true, None)?);
    let oldest = Some(1).filter(|_| snapshots > 0);
    let then = (lookup(oldest)?, list(false, oldest)?, list(true, oldest)?);
    tables.newest += u64::from(snapshots > 0);
    let apart = DIRS * NAMES / CHANGES;
    let first = timed(CHANGES, |n| tables.change(n * apart))?;
    let second = timed(CHANGES, |n| tables.change(n * apart))?;
    let name = format!("{layout:?}");
    println!(
        "{name:7} {snapshots:9} | {:6.2} {:5.2} {:5.2} | {:6.2} {:5.2} {:8.2} | {first:5.2} {second:7.2} | {one:8.0}",
        now.0, now.1, now.2, then.0, then.1, then.2
    );
    Ok(bytes)
}

struct Tables {
    store: Store,
    layout: Layout,
    /// Number of the newest snapshot.
    newest: u64,
    random: u64,
    versions: u64,
}

impl Tables {
    fn change_any(&mut self) -> Result<(), StoreError> {
        self.random += 1;
        self.change(mix(self.random.wrapping_mul(GAMMA)) % (DIRS * NAMES))
    }

    /// Changes a row, and keeps what it was if a snapshot has that. A value begins with the number of the snapshot that was the
    /// newest when it was written.
    fn change(&mut self, row: u64) -> Result<(), StoreError> {
        let (key, mut value, mut batch) = (row_key(row), [7; VALUE_BYTES], Batch::new());
        value[..8].copy_from_slice(&self.newest.to_be_bytes());
        match self.layout {
            Layout::Among => {
                // The same number replaces, another one is one more version.
                self.versions += u64::from(self.newest > 0);
                batch.put(version_key(b'E', key, !self.newest), value);
            }
            Layout::Beside => {
                let old = self.store.get(&key)?;
                if let Some(old) = old.filter(|old| number_in(old) < self.newest) {
                    self.versions += 1;
                    batch.put(version_key(b'e', key, self.newest), &*old);
                    batch.put(index_key(key, self.newest), []);
                }
                batch.put(key, value);
            }
        }
        self.store.apply(&batch)?;
        Ok(())
    }

    /// The row now, or at a snapshot.
    fn lookup(&self, key: [u8; 17], at: Option<u64>) -> Result<(), StoreError> {
        let mut found = false;
        let mut see = |key: &[u8], value: &[u8]| {
            found = key.len() + value.len() > 0;
            ControlFlow::Break(())
        };
        let (tag, from) = match self.layout {
            Layout::Among => (b'E', at.map_or(0, |at| !(at - 1))),
            Layout::Beside => (b'e', at.unwrap_or(0)),
        };
        if self.layout == Layout::Among || at.is_some() {
            let (from, to) = (version_key(tag, key, from), version_key(tag, key, u64::MAX));
            self.store.scan(Bound::Included(&from), Bound::Included(&to), &mut see)?;
        }
        found = found || (self.layout == Layout::Beside && self.store.get(&key)?.is_some());
        assert!(found, "every row is there at every time");
        Ok(())
    }

    /// Counts the rows of a directory now, or at a snapshot.
    fn list(&self, dir: u64, at: Option<u64>) -> Result<u64, StoreError> {
        let Some(number) = at else { return self.count(b'E', dir, u64::MAX) };
        if self.layout == Layout::Among {
            return self.count(b'E', dir, number - 1);
        }
        let mut names = 0;
        // One step for each name that has versions, however many it has.
        let mut from = version_key(b'e', row_key(dir * NAMES), 0).to_vec();
        let end = version_key(b'e', row_key((dir + 1) * NAMES - 1), u64::MAX);
        let mut kept = std::collections::BTreeSet::new();
        loop {
            let mut at_key = None;
            self.store.scan(Bound::Included(&from), Bound::Included(&end), &mut |key, _| {
                at_key = Some(<[u8; 16]>::try_from(&key[1..17]).expect("all keys have 25 bytes"));
                ControlFlow::Break(())
            })?;
            let Some(of) = at_key else { break };
            from = [&b"e"[..], &of, &number.to_be_bytes()].concat();
            let last = [&b"e"[..], &of, &u64::MAX.to_be_bytes()].concat();
            self.store.scan(Bound::Included(&from), Bound::Included(&last), &mut |_, value| {
                names += u64::from(number_in(value) < number && kept.insert(of));
                ControlFlow::Break(())
            })?;
            from = last;
        }
        let (first, last) = (row_key(dir * NAMES), row_key((dir + 1) * NAMES - 1));
        self.store.scan(Bound::Included(&first), Bound::Included(&last), &mut |key, value| {
            names += u64::from(number_in(value) < number && !kept.contains(&key[1..]));
            ControlFlow::Continue(())
        })?;
        Ok(names)
    }

    /// Counts rows whose newest version up to a number is there, by looking at all versions.
    fn count(&self, tag: u8, dir: u64, upto: u64) -> Result<u64, StoreError> {
        let (first, last) = (row_key(dir * NAMES), row_key((dir + 1) * NAMES - 1));
        let (from, to) = (version_key(tag, first, 0), version_key(tag, last, u64::MAX));
        let (from, to): (&[u8], &[u8]) = if self.layout == Layout::Among { (&from, &to) } else { (&first, &last) };
        let (mut names, mut before) = (0, [0; 16]);
        self.store.scan(Bound::Included(from), Bound::Included(to), &mut |key, value| {
            if number_in(value) <= upto && before != key[1..17] {
                before.copy_from_slice(&key[1..17]);
                names += 1;
            }
            ControlFlow::Continue(())
        })?;
        Ok(names)
    }
}

/// CPU of one, in microseconds.
fn timed(times: u64, mut once: impl FnMut(u64) -> Result<(), StoreError>) -> Result<f64, StoreError> {
    let began = cpu_time();
    (0..times).try_for_each(&mut once)?;
    Ok((cpu_time() - began).as_secs_f64() * 1e6 / times as f64)
}

fn row_key(row: u64) -> [u8; 17] {
    let mut key = [b'E'; 17];
    key[1..9].copy_from_slice(&(row / NAMES).to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key[9..].copy_from_slice(&(row % NAMES + 1).to_be_bytes()); // why big-endian: the same
    key
}

fn version_key(tag: u8, row: [u8; 17], number: u64) -> [u8; 25] {
    let mut key = [tag; 25];
    key[1..17].copy_from_slice(&row[1..]);
    key[17..].copy_from_slice(&number.to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key
}

fn index_key(row: [u8; 17], number: u64) -> [u8; 25] {
    let mut key = [b'y'; 25];
    key[1..9].copy_from_slice(&number.to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key[9..].copy_from_slice(&row[1..]);
    key
}

fn number_in(value: &[u8]) -> u64 {
    u64::from_be_bytes(value[..8].try_into().expect("all values have 120 bytes"))
}

fn used_bytes(dir: &std::path::Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.blocks() as f64 * 512.0).sum()
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
