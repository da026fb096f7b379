// SPDX-License-Identifier: Apache-2.0

//! CPU cost of the name-space logic and the log behind it, without network: `cargo run --release -p nyala-meta
//! --example namespace_bench`. Prints CPU µs per operation, groups of 64 sharing one write of the log.

#[path = "../../nyala-namespace/tests/support/mod.rs"]
mod support;

use nyala_meta::tables::Tables;
use nyala_namespace::keys;
use nyala_store::{Options, Store};
use nyala_wire::meta::*;
use nyala_wire::*;
use rustix::time::{ClockId, clock_gettime};
use support::{Logic, new_tables};

const FILES: u64 = 200_000;
const GROUP: u64 = 64;

fn cpu_us() -> f64 {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3
}

fn name(n: u64) -> Name {
    Name::new(format!("file.{n:08}").as_bytes()).expect("a short name without slashes is valid")
}

fn phase(tables: &Tables, logic: &mut Logic, what: &str, op: impl Fn(u64) -> MetaOp) {
    let start = cpu_us();
    for n in 0..FILES {
        let (reply, mut batch) = logic.run(tables, 1, &op(n)).expect("the phases fit together");
        if op(n).is_change() {
            batch.put(keys::reply(SessionId(1), n), codec::encode(&reply));
            tables.apply(&batch).expect("the store has room");
            if n % GROUP == 0 {
                tables.store.flush().expect("the log can be written");
            }
        } else {
            std::hint::black_box(codec::encode(&reply));
        }
    }
    println!("{what:<28} {:6.2} us CPU per operation", (cpu_us() - start) / FILES as f64);
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (store, _) = Store::open(dir.path(), Options::default()).expect("a new store opens");
    store.apply(new_tables()).expect("the store has room");
    let tables = Tables::new(store).expect("the tables can be read");
    let mut logic = Logic::new();
    let entry = |n| NewEntry { parent: InodeId::ROOT, name: name(n), perm: 0o644, umask: 0 };
    let inode = |n: u64| InodeId::new(Slot(0), n + 2).expect("in range");
    phase(&tables, &mut logic, "create", |n| MetaOp::Create { entry: entry(n), exclusive: true });
    phase(&tables, &mut logic, "close", |n| MetaOp::Close { inode: inode(n) });
    phase(&tables, &mut logic, "lookup", |n| MetaOp::Lookup { parent: InodeId::ROOT, name: name(n) });
    phase(&tables, &mut logic, "getattr", |n| MetaOp::GetAttr { inode: inode(n) });
    phase(&tables, &mut logic, "unlink", |n| MetaOp::Unlink { parent: InodeId::ROOT, name: name(n) });
}
