// SPDX-License-Identifier: Apache-2.0

//! The metadata store crashes at every write, sync and checkpoint, as a process and as a machine; what is recovered is
//! the name space after some operation, none that was promised is missing, and a repeated request is known or not known
//! exactly as its change is there or not.

#[path = "../../../nyala-namespace/tests/support/mod.rs"]
mod support;

use nyala_meta::tables::StoreView;
use nyala_namespace::keys;
use nyala_namespace::view::View;
use nyala_store::testing::Machine;
use nyala_store::{Batch, Options, Store, StoreError};
use nyala_wire::meta::*;
use nyala_wire::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use support::{Logic, new_tables};

const SESSION: u64 = 77;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn create(parent: InodeId, text: &str) -> MetaOp {
    MetaOp::Create { entry: NewEntry { parent, name: name(text), perm: 0o600, umask: 0 }, exclusive: true }
}

fn mkdir(parent: InodeId, text: &str) -> MetaOp {
    MetaOp::Mkdir { entry: NewEntry { parent, name: name(text), perm: 0o700, umask: 0 } }
}

fn rename(from: (InodeId, &str), to: (InodeId, &str), exchange: bool) -> MetaOp {
    MetaOp::Rename(Rename {
        from_parent: from.0,
        from_name: name(from.1),
        to_parent: to.0,
        to_name: name(to.1),
        no_replace: false,
        exchange,
    })
}

/// A sequence of operations; inode numbers are those that a fresh server gives out in this order.
fn operations() -> Vec<MetaOp> {
    let root = InodeId::ROOT;
    let first = find_first_dir();
    let put = |inode, version, text: &str| {
        MetaOp::PutInline(PutInline {
            inode,
            base_version: version,
            data: text.as_bytes().to_vec().into(),
            mtime: Time { seconds: 5, nanos: 5 },
            sync: false,
            close: true,
            size: None,
            set: None,
        })
    };
    let file = InodeId::new(Slot(0), 2).unwrap();
    vec![
        create(root, "a"),
        put(file, 0, "content"),
        mkdir(root, "d"),
        create(first, "x"),
        rename((root, "a"), (first, "b"), false),
        rename((first, "b"), (first, "x"), true),
        MetaOp::Link { inode: file, parent: root, name: name("again") },
        rename((first, "x"), (first, "b"), false),
        MetaOp::Unlink { parent: root, name: name("again") },
        MetaOp::SetXattr {
            inode: file,
            name: b"user.k".to_vec().into(),
            value: b"v".to_vec().into(),
            create: false,
            replace: false,
            kill_sgid: false,
        },
        MetaOp::Unlink { parent: first, name: name("b") },
        MetaOp::Rmdir { parent: root, name: name("d") },
    ]
}

/// The number that the first directory gets: its slot is chosen by the operation's random number.
fn find_first_dir() -> InodeId {
    let mut view = nyala_namespace::view::MemView::default();
    view.apply(&new_tables());
    let mut logic = Logic::new();
    let file = InodeId::new(Slot(0), 2).unwrap();
    for op in [create(InodeId::ROOT, "a"), MetaOp::Close { inode: file }, mkdir(InodeId::ROOT, "d")] {
        let (reply, batch) = logic.run(&view, SESSION, &op).unwrap();
        view.apply(&batch);
        if let MetaReply::Entry(entry) = reply {
            return entry.inode;
        }
    }
    unreachable!("mkdir answers with an entry")
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Flush,
    Sync,
    Checkpoint,
}

type Tables = BTreeMap<Vec<u8>, Vec<u8>>;

fn tables(store: &Store) -> Tables {
    let mut found = Tables::new();
    StoreView(store)
        .scan(&[0], &[0xff], &mut |key, value| {
            found.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// What a run has promised so far, and the tables after each of its steps.
#[derive(Default)]
struct Promised {
    states: Vec<Tables>,
    written: usize,
    durable: usize,
}

fn open(machine: &Machine) -> Result<Store, StoreError> {
    let options = Options { manual: true, segment_bytes: 4096, ..Options::default() };
    Store::open_with(machine.disk(), machine.ordered(), options).map(|(store, _)| store)
}

fn work(machine: &Machine, then: Then, promised: &mut Promised) -> Result<(), StoreError> {
    promised.states.push(Tables::new());
    let store = open(machine)?;
    let mut logic = Logic::new();
    let step = |batch: Batch, promised: &mut Promised| -> Result<(), StoreError> {
        let mut next = promised.states.last().cloned().unwrap_or_default();
        for (key, value) in batch.iter() {
            match value {
                Some(value) => next.insert(key.to_vec(), value.to_vec()),
                None => next.remove(key),
            };
        }
        promised.states.push(next);
        store.apply(&batch)?;
        store.flush()?;
        promised.written = promised.states.len() - 1;
        match then {
            Then::Flush => return Ok(()),
            Then::Sync => store.sync_blocking()?,
            Then::Checkpoint => store.checkpoint_blocking()?,
        }
        promised.durable = promised.states.len() - 1;
        Ok(())
    };
    step(new_tables(), promised)?;
    for (sequence, op) in (1_u64..).zip(operations()) {
        let (reply, mut batch) =
            logic.run(&StoreView(&store), SESSION, &op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
        batch.put(keys::reply(SessionId(SESSION), sequence), codec::encode(&reply));
        step(batch, promised)?;
    }
    Ok(())
}

fn crash_everywhere(then: Then, power: bool) {
    let whole = Machine::new(1);
    let mut all = Promised::default();
    work(&whole, then, &mut all).unwrap();
    assert!(whole.points() > 20, "the machine counts its points");
    for point in 0..whole.points() {
        let machine = Machine::new(point + 100);
        machine.crash_at(point);
        let mut promised = Promised::default();
        work(&machine, then, &mut promised).expect_err("the machine crashed");
        if power {
            machine.power_cut()
        } else {
            machine.process_crash()
        }
        let found = tables(&open(&machine).unwrap_or_else(|error| panic!("point {point}: {error}")));
        let least = if power { promised.durable } else { promised.written };
        let at = promised.states.iter().rposition(|state| *state == found);
        let at = at.unwrap_or_else(|| panic!("point {point}: these are no operation's tables"));
        assert!(at >= least, "point {point}: {at} steps recovered, {least} promised");
        // A kept reply is there exactly for what was done: step 1 is the new tables, operation n is step n + 1.
        let replies = found.keys().filter(|key| key[0] == keys::REPLY).count();
        assert_eq!(replies, at.saturating_sub(1), "point {point}");
    }
}

#[test]
fn process_crash_at_every_point() {
    crash_everywhere(Then::Flush, false);
    crash_everywhere(Then::Checkpoint, false);
}

#[test]
fn power_cut_at_every_point() {
    crash_everywhere(Then::Flush, true);
    crash_everywhere(Then::Sync, true);
    crash_everywhere(Then::Checkpoint, true);
}
