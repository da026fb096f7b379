// SPDX-License-Identifier: Apache-2.0

//! Does one operation on names a number of times, from the request to the tables, without network and without waiting for a
//! disk, so that an instruction counter can tell what it costs: `scripts/instructions` runs this under callgrind and
//! compares with the counts that are stored.
//!
//! `names_instructions` lists the operations; `names_instructions NAME TIMES` does one. What is there before is the same
//! whatever `TIMES` is.

#[path = "../../nyala-namespace/tests/support/mod.rs"]
mod support;

use nyala_meta::tables::Tables;
use nyala_namespace::delegations::{Delegations, Need};
use nyala_store::{Options, Store};
use nyala_wire::meta::*;
use nyala_wire::*;
use std::hint::black_box;
use support::{Logic, new_tables};

/// Files that are there before.
const FILES: u64 = 1000;
/// Files that one request stores, where it stores several.
const BATCH: u64 = 16;
/// So often there is something to do.
const MOST: u64 = FILES / BATCH;
const SESSION: SessionId = SessionId(1);

struct Server {
    tables: Tables,
    logic: Logic,
    delegations: Delegations,
}

fn name(n: u64) -> Name {
    Name::new(format!("checkpoint.{n:08}").as_bytes()).expect("a short name without slashes is valid")
}

fn inode(n: u64) -> InodeId {
    InodeId::new(Slot(0), n + 2).expect("in range")
}

fn put(n: u64, bytes: usize) -> PutInline {
    let (data, mtime) = (vec![7; bytes].into(), Time { seconds: 2_000_000, nanos: 0 });
    PutInline { inode: inode(n), base_version: 0, data, mtime, sync: false, close: false, size: None, set: None }
}

/// The operations that are counted.
fn op(what: &str, n: u64) -> Option<MetaOp> {
    let parent = InodeId::ROOT;
    let new = |n| NewEntry { parent, name: name(n), perm: 0o644, umask: 0 };
    Some(match what {
        "name-create" => MetaOp::Create { entry: new(FILES + n), exclusive: true },
        "name-lookup" => MetaOp::Lookup { parent, name: name(n) },
        "name-missing-lookup" => MetaOp::Lookup { parent, name: name(FILES + n) },
        "name-getattr" => MetaOp::GetAttr { inode: inode(n) },
        "name-put-4kib" => MetaOp::PutInline(put(n, 4096)),
        "name-put-16-of-4kib" => {
            MetaOp::PutInlines { puts: (BATCH * n..BATCH * (n + 1)).map(|n| put(n, 4096)).collect() }
        }
        "name-unlink" => MetaOp::Unlink { parent, name: name(n) },
        _ => return None,
    })
}

const NAMES: [&str; 8] = [
    "name-create",
    "name-lookup",
    "name-missing-lookup",
    "name-getattr",
    "name-put-4kib",
    "name-put-16-of-4kib",
    "name-unlink",
    "name-delegation",
];

impl Server {
    fn run(&mut self, op: &MetaOp) {
        // As it comes over the network, and goes back.
        let bytes = codec::encode(op);
        let op: MetaOp = codec::decode(&bytes).expect("it was just encoded");
        match self.logic.run(&self.tables, SESSION.0, &op) {
            Ok((reply, batch)) => {
                if op.is_change() {
                    self.tables.apply(&batch).expect("the store has room");
                }
                black_box(codec::encode(&reply));
            }
            // A name that is missing is an answer too.
            Err(error) => {
                assert_eq!(error.code, ErrorCode::NOT_FOUND, "the operations fit together");
                black_box(codec::encode(&error));
            }
        }
    }

    /// What a delegation costs that another client wants to have.
    fn delegation(&mut self, n: u64) {
        let (other, mode) = (SessionId(2), DelegationMode::Exclusive);
        let (inode, delegations) = (inode(n), &mut self.delegations);
        let seq = delegations.next_seq();
        assert_eq!(delegations.insist(inode, SESSION, mode, seq), mode);
        black_box(delegations.clear(inode, other, Need::Change, 5));
        for revocation in delegations.poll(SESSION, 5) {
            let Revocation { inode, keep, seq } = revocation;
            black_box(delegations.returned(SESSION, &Returned { inode, keep, seq, open: false }, 5));
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (what, times) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => return NAMES.iter().for_each(|name| println!("{name}")),
        [what, times] if NAMES.contains(&what) => (what, times.parse().ok().filter(|times| *times <= MOST)),
        _ => ("", None),
    };
    let Some(times) = times else {
        eprintln!("names_instructions: NAME TIMES, at most {MOST} times, where NAME is one of {}", NAMES.join(", "));
        std::process::exit(2);
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    // Without threads, which would be counted too, and with a map that valgrind has room for.
    let options = Options { manual: true, table_bytes: 1 << 30, ..Options::default() };
    let (store, _) = Store::open(dir.path(), options).expect("a new store opens");
    store.apply(new_tables()).expect("the store has room");
    let tables = Tables::new(store).expect("the tables can be read");
    let mut server = Server { tables, logic: Logic::new(), delegations: Delegations::default() };
    for n in 0..FILES {
        let entry = NewEntry { parent: InodeId::ROOT, name: name(n), perm: 0o644, umask: 0 };
        server.run(&MetaOp::Create { entry, exclusive: true });
        server.run(&MetaOp::Close { inode: inode(n) });
    }
    // All of them, however often one is done: what it takes to make requests is not counted.
    let ops: Vec<Option<MetaOp>> = (0..MOST).map(|n| op(what, n)).collect();
    for (n, op) in (0..times).zip(&ops) {
        match op {
            Some(op) => server.run(op),
            None => server.delegation(n),
        }
    }
}
