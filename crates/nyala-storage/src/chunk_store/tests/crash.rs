// SPDX-License-Identifier: Apache-2.0

//! Crashes of the process and of the machine at every step of random sequences.

use super::model::{FILE, Op, any_op, apply_to_model, content, open, pattern, run_op, write_op};
use super::sim::{Event, World};
use crate::chunk_store::ChunkError;
use crate::chunk_store::rows::tag;
use proptest::prelude::*;

/// Which values each byte may have after a crash, as bits, and which lengths the file may have.
#[derive(Clone, Default)]
struct Allowed {
    bytes: Vec<u8>,
    shortest: usize,
    longest: usize,
}

impl Allowed {
    fn only(content: &[u8]) -> Allowed {
        Allowed { bytes: content.iter().map(|b| 1 << b).collect(), shortest: content.len(), longest: content.len() }
    }

    /// The content may also be this, byte by byte.
    fn or(&mut self, content: &[u8]) {
        // Where a file was shorter, a byte may be zero.
        self.bytes.resize(self.bytes.len().max(content.len()), 1);
        for (at, allowed) in self.bytes.iter_mut().enumerate() {
            *allowed |= 1 << content.get(at).copied().unwrap_or(0);
        }
        self.shortest = self.shortest.min(content.len());
        self.longest = self.longest.max(content.len());
    }

    /// Whatever the content is, nothing is left behind this length.
    fn cut(&mut self, len: usize) {
        self.bytes.truncate(len);
        (self.shortest, self.longest) = (self.shortest.min(len), self.longest.min(len));
    }

    fn check(&self, found: &[u8], when: &str) {
        assert!((self.shortest..=self.longest).contains(&found.len()), "{when}: length {}", found.len());
        for (at, byte) in found.iter().enumerate() {
            assert!(self.bytes[at] >> byte & 1 == 1, "{when}: byte {at} is {byte}");
        }
    }
}

/// Runs until the crash. What the file may be after a crash of the process, and after one of the machine.
fn run_until_crash(world: &World, ops: &[Op]) -> (Allowed, Allowed) {
    let mut model = Vec::new();
    let mut unsynced = Allowed::only(&[]);
    let Ok(mut worker) = open(world, 1) else { return (Allowed::only(&[]), unsynced) };
    for op in ops {
        if *op == Op::Reopen {
            match open(world, 1) {
                Ok(again) => worker = again,
                Err(_) => break,
            }
        }
        let before = model.clone();
        let result = run_op(&mut worker, op);
        apply_to_model(&mut model, op);
        unsynced.or(&model);
        if result.is_err() {
            assert!(world.crashed(), "failed without a crash: {result:?} in {op:?}");
            let mut process = Allowed::only(&before);
            process.or(&model);
            return (process, unsynced);
        }
        match op {
            Op::Sync => unsynced = Allowed::only(&model),
            // Acknowledged, so metadata forgets that it was asked for.
            Op::Truncate { len } => unsynced.cut(*len as usize),
            _ => {}
        }
    }
    (Allowed::only(&model), unsynced)
}

/// Opens, with a crash at step `second` of the recovery first, and checks.
fn check_after(world: &World, machine: bool, second: u64, allowed: &Allowed, when: &str) {
    let restart = || if machine { world.restart_machine() } else { world.restart_process() };
    restart();
    let mut boot = if machine { 2 } else { 1 };
    world.at(Some((second, Event::Crash)));
    if open(world, boot).is_err() {
        restart();
        boot += u32::from(machine);
    }
    world.at(None);
    let mut worker = open(world, boot).unwrap_or_else(|e| panic!("{when}: cannot open: {e}"));
    let found = content(&mut worker, FILE).unwrap_or_else(|e| panic!("{when}: {e}"));
    allowed.check(&found, when);
    assert_eq!(world.keys(tag::INTENT), 0, "{when}: an intent was left");
    // The store goes on working, with partial writes over what was found.
    let mut model = found;
    for op in [
        Op::Write { offset: 100, len: 5000, seed: 6 },
        Op::Punch { offset: 300, len: 9000 },
        Op::Write { offset: 64 * 4096 - 10, len: 20, seed: 2 },
        Op::Sync,
        Op::Truncate { len: 4099 },
    ] {
        run_op(&mut worker, &op).unwrap_or_else(|e| panic!("{when}: {op:?}: {e}"));
        apply_to_model(&mut model, &op);
    }
    assert_eq!(content(&mut worker, FILE).unwrap(), model, "{when}: after going on");
}

fn crash_everywhere(ops: &[Op], seed: u64) {
    let world = World::new(seed);
    world.at(None);
    run_until_crash(&world, ops);
    let steps = world.steps();
    for step in 1..=steps + 1 {
        for machine in [false, true] {
            let world = World::new(seed * 1000 + step);
            world.at(Some((step, Event::Crash)));
            let (process, unsynced) = run_until_crash(&world, ops);
            let allowed = if machine { unsynced } else { process };
            let when = format!("crash at step {step} of {steps}, machine {machine}");
            check_after(&world, machine, 1 + (seed + step) % 9, &allowed, &when);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nothing_acknowledged_is_lost(ops in prop::collection::vec(any_op(), 1..9), seed in 0_u64..1000) {
        crash_everywhere(&ops, seed);
    }
}

/// The three shapes that are easiest to get wrong, always tested: overwriting what was synced, appending to a synced
/// partial block, and cutting it.
#[test]
fn changes_of_synced_blocks() {
    let write = |offset, len, seed| Op::Write { offset, len, seed };
    for seed in 0..20 {
        crash_everywhere(&[write(0, 9000, 1), Op::Sync, Op::Idle, write(4096, 4096, 2)], seed);
        crash_everywhere(&[write(0, 100, 1), Op::Sync, Op::Idle, write(100, 5000, 2), write(20, 10, 3)], seed);
        crash_everywhere(&[write(0, 9000, 1), Op::Sync, Op::Idle, Op::Truncate { len: 4500 }, Op::Sync], seed);
        let cut = |len| Op::Truncate { len };
        crash_everywhere(&[write(0, 9000, 1), Op::Sync, cut(4500), write(5000, 10, 2), cut(6000)], seed);
        crash_everywhere(&[write(0, 9000, 1), Op::Sync, Op::Reopen, cut(0), write(8000, 10, 2)], seed);
        crash_everywhere(&[write(0, 9000, 1), Op::Sync, Op::Idle, Op::Punch { offset: 10, len: 8500 }], seed);
    }
}

#[test]
fn removal_goes_on_after_any_crash() {
    for step in 1..40 {
        for machine in [false, true] {
            let world = World::new(step);
            let mut worker = open(&world, 1).unwrap();
            worker.write(write_op(FILE, 0, pattern(1, 9000))).unwrap();
            worker.sync(FILE).unwrap();
            world.at(Some((step, Event::Crash)));
            let store = || crate::chunk_store::ChunkStore::open(world.table(), world.disk(), &super::model::options(1));
            let acknowledged = worker.unlink(FILE, 1000).is_ok() && world.table().sync().is_ok();
            let _ = store().and_then(|store| store.remover().remove(FILE));
            let boot = if machine { 2 } else { 1 };
            if machine {
                world.restart_machine()
            } else {
                world.restart_process()
            }
            let options = super::model::options(boot);
            let store = crate::chunk_store::ChunkStore::open(world.table(), world.disk(), &options).unwrap();
            store.removals().into_iter().for_each(|file| store.remover().remove(file).unwrap());
            let mut worker = store.worker(0, 1);
            if acknowledged {
                assert_eq!((world.files(), world.keys(tag::CHECKSUMS), world.keys(tag::UNSYNCED)), (0, 0, 0), "{step}");
                let late = worker.write(write_op(FILE, 0, vec![1]));
                assert!(matches!(late, Err(ChunkError::Stale(_))), "step {step}: {late:?}");
                worker.expire_dead(3599).unwrap();
                assert_eq!(world.keys(tag::DEAD), 1);
                worker.expire_dead(3600).unwrap();
                assert_eq!(world.keys(tag::DEAD), 0);
            } else if world.keys(tag::DEAD) == 0 {
                assert_eq!(content(&mut worker, FILE).unwrap(), pattern(1, 9000));
            }
        }
    }
}
