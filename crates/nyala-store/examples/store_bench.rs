// SPDX-License-Identifier: Apache-2.0

//! What the store costs here: `cargo run --release -p nyala-store --example store_bench [directory]`.
//!
//! Keys and values are like directory entries: 8 bytes of parent, a random name, 120 bytes of value.

use std::ops::{Bound, ControlFlow};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nyala_store::{Batch, Options, Store, StoreError};
use nyala_wire::splitmix::{GAMMA, mix};

const ENTRIES: u64 = 1_000_000;
const GROUP: u64 = 64;
const SYNCED_GROUPS: u64 = 2_000;
const SYNCED_GROUP: u64 = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("nyala-store-bench"), PathBuf::from);
    if dir.exists() {
        return Err(format!("{} exists; name a directory that does not", dir.display()).into());
    }
    let result = bench(&dir);
    std::fs::remove_dir_all(&dir)?;
    Ok(result?)
}

fn bench(dir: &std::path::Path) -> Result<(), StoreError> {
    let in_memory = Options { memory_soft_bytes: 1 << 30, memory_hard_bytes: 2 << 30, ..Options::default() };
    let (store, _) = Store::open(dir, in_memory)?;
    let value = [7u8; 120];

    let inserted = Clock::start();
    let mut batch = Batch::new();
    for group in 0..ENTRIES / GROUP {
        for i in 0..GROUP {
            batch.clear();
            batch.put(key(group * GROUP + i), value);
            store.apply(&batch)?;
        }
        store.flush()?;
    }
    inserted.print("apply, flush per 64: one entry", ENTRIES);

    measure_gets(&store, "get from memory")?;
    let synced = Clock::start();
    for group in 0..SYNCED_GROUPS {
        for i in 0..SYNCED_GROUP {
            batch.clear();
            batch.put(key(ENTRIES + group * SYNCED_GROUP + i), value);
            store.apply(&batch)?;
        }
        store.sync_blocking()?;
    }
    synced.print("apply and sync, groups of 16: one group", SYNCED_GROUPS);
    wait_durable(&store)?;

    let checkpoint = Clock::start();
    store.checkpoint_blocking()?;
    checkpoint.print("checkpoint: one entry", ENTRIES);
    measure_gets(&store, "get from the tree")?;
    print_size(&dir.join("table"), ENTRIES + SYNCED_GROUPS * SYNCED_GROUP + SYNCED_GROUPS)?;
    let scanned = Clock::start();
    let mut count = 0;
    store.scan(Bound::Unbounded, Bound::Unbounded, &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    scanned.print("scan the tree: one entry", count);
    println!("{:?}", store.stats());
    grow(&store)?;
    print_size(&dir.join("table"), 3 * ENTRIES / 2)?;
    store.close()
}

/// Half as many entries again, a checkpoint for each so many.
fn grow(store: &Store) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    let (per, clock) = (20_000, Clock::start());
    for i in 0..ENTRIES / 2 {
        batch.clear();
        batch.put(key(3 * ENTRIES + i), [7; 120]);
        store.apply(&batch)?;
        if i % per == per - 1 {
            store.checkpoint_blocking()?;
        }
    }
    clock.print("apply, a checkpoint each 20,000: one entry", ENTRIES / 2);
    Ok(())
}

fn measure_gets(store: &Store, what: &str) -> Result<(), StoreError> {
    let clock = Clock::start();
    let mut found = 0;
    for i in 0..ENTRIES {
        found += u64::from(store.get(&key(i.wrapping_mul(7919) % ENTRIES))?.is_some());
    }
    assert_eq!(found, ENTRIES);
    clock.print(what, ENTRIES);
    Ok(())
}

fn print_size(dir: &std::path::Path, entries: u64) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt;
    let sizes =
        std::fs::read_dir(dir).map(|all| all.flatten().flat_map(|one| one.metadata()).map(|m| m.blocks() * 512));
    println!("disk, one entry: {:.1} bytes", sizes.map_or(0, Iterator::sum::<u64>) as f64 / entries as f64);
    Ok(())
}

fn wait_durable(store: &Store) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without I/O needs nothing that can be missing");
    let clock = Clock::start();
    for i in 0..SYNCED_GROUPS {
        let lsn = store.apply(Batch::new().put(key(2 * ENTRIES + i), [7; 120]))?;
        store.flush()?;
        runtime.block_on(store.wait_durable(lsn))?;
    }
    clock.print("apply, flush, wait_durable, one at a time", SYNCED_GROUPS);
    Ok(())
}

/// A key with a name that looks random.
fn key(i: u64) -> [u8; 24] {
    let name = mix(i.wrapping_add(1).wrapping_mul(GAMMA));
    let mut key = [b'n'; 24];
    key[..8].copy_from_slice(&(name % 64).to_le_bytes());
    key[8..16].copy_from_slice(&name.to_le_bytes());
    key
}

/// Wall time, and CPU time of the whole process.
struct Clock {
    wall: Instant,
    cpu: Duration,
}

impl Clock {
    fn start() -> Clock {
        Clock { wall: Instant::now(), cpu: cpu_time() }
    }

    fn print(&self, what: &str, count: u64) {
        let per = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
        println!("{what:45} {:8.3} µs CPU {:8.3} µs wall", per(cpu_time() - self.cpu), per(self.wall.elapsed()));
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
