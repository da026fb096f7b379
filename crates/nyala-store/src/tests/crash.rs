// SPDX-License-Identifier: Apache-2.0

//! Crashes at every write, sync, creation, renaming, removal and commit, in both kinds, again during recovery, and work
//! that goes on afterwards.

use super::{Content, Opener, content, open, open_with_tree};
use crate::testing::Machine;
use crate::{Batch, Store, StoreError};
use nyala_wire::SplitMix64;

#[derive(Debug, Clone, Copy)]
enum Step {
    Apply,
    Flush,
    Sync,
    Checkpoint,
    Close,
    Drop,
}

/// States after each batch, and what was promised.
struct Run {
    states: Vec<Content>,
    flushed: usize,
    synced: usize,
    random: SplitMix64,
    open: Opener,
}

impl Run {
    fn new(seed: u64, open: Opener) -> Run {
        Run { states: vec![Content::new()], flushed: 0, synced: 0, random: SplitMix64::new(seed), open }
    }

    /// A batch that touches several keys, so that a half-applied one shows.
    fn batch(&mut self) -> (Batch, Content) {
        let number = self.states.len() as u64;
        let mut state = self.states[self.states.len() - 1].clone();
        let mut batch = Batch::new();
        for key in [0, 1 + self.random.below(6), 1 + self.random.below(6)] {
            let key = format!("key {key}").into_bytes();
            if self.random.below(4) == 0 && key != b"key 0" {
                batch.delete(&key);
                state.remove(&key);
            } else {
                let mut value = number.to_le_bytes().to_vec();
                value.resize(8 + self.random.below(200) as usize, number as u8);
                batch.put(&key, &value);
                state.insert(key, value);
            }
        }
        (batch, state)
    }

    fn steps(&mut self, machine: &Machine, steps: &[Step]) -> Result<(), StoreError> {
        let mut store = Some((self.open)(machine)?.0);
        for step in steps {
            let open_store: &Store = match &store {
                Some(store) => store,
                None => store.insert((self.open)(machine)?.0),
            };
            match step {
                Step::Apply => {
                    // What a failed apply, or one that wrote a full buffer, left behind may be found later.
                    let (batch, state) = self.batch();
                    self.states.push(state);
                    open_store.apply(batch)?;
                }
                Step::Flush => {
                    open_store.flush()?;
                    self.flushed = self.states.len() - 1;
                }
                Step::Sync => {
                    open_store.sync_blocking()?;
                    (self.flushed, self.synced) = (self.states.len() - 1, self.states.len() - 1);
                }
                Step::Checkpoint => {
                    open_store.checkpoint_blocking()?;
                    (self.flushed, self.synced) = (self.states.len() - 1, self.states.len() - 1);
                }
                Step::Close => {
                    if let Some(store) = store.take() {
                        store.close()?;
                    }
                    (self.flushed, self.synced) = (self.states.len() - 1, self.states.len() - 1);
                }
                Step::Drop => {
                    // Drops without a word of errors, so look whether it was hit.
                    drop(store.take());
                    up(machine)?;
                    self.flushed = self.states.len() - 1;
                }
            }
        }
        drop(store);
        up(machine)
    }

    /// The recovered state is that after some batch, and no promised batch is missing. Forgets what was lost.
    fn check(&mut self, store: &Store, power: bool, what: &str) {
        let found = content(store);
        let promised = if power { self.synced } else { self.flushed };
        let at = self.states.iter().position(|state| *state == found);
        let at = at.unwrap_or_else(|| panic!("{what}: not the state after any batch: {found:?}"));
        assert!(at >= promised, "{what}: recovered batch {at}, promised {promised}");
        self.states.truncate(at + 1);
        // Recovery makes what it found durable.
        (self.flushed, self.synced) = (at, at);
    }
}

fn up(machine: &Machine) -> Result<(), StoreError> {
    if machine.is_down() { Err(StoreError::Closed) } else { Ok(()) }
}

fn crash_everywhere(steps: &[Step], power: bool, open: Opener) {
    let whole = Machine::new(0);
    Run::new(7, open).steps(&whole, steps).unwrap();
    for point in 0..whole.points() {
        let what = format!("{steps:?}, power {power}, point {point}");
        let machine = Machine::new(point * 31 + 1);
        let mut run = Run::new(7, open);
        machine.crash_at(point);
        run.steps(&machine, steps).expect_err("the machine crashed");
        assert!(machine.is_down(), "{what}");
        let down = |machine: &Machine| if power { machine.power_cut() } else { machine.process_crash() };
        down(&machine);
        // Crash once more, somewhere in the recovery.
        let recovery_points = {
            let fork = machine.fork();
            open(&fork).unwrap_or_else(|error| panic!("{what}: {error}"));
            fork.points()
        };
        if recovery_points > 0 {
            machine.crash_at(machine.points() + point % recovery_points);
            assert!(open(&machine).is_err(), "{what}");
            down(&machine);
        }
        let (store, _) = open(&machine).unwrap_or_else(|error| panic!("{what}, second recovery: {error}"));
        run.check(&store, power, &what);
        drop(store);
        // What came after a cut must not be confused with what was cut.
        run.steps(&machine, &[Step::Apply, Step::Flush, Step::Apply, Step::Sync, Step::Apply, Step::Flush]).unwrap();
        down(&machine);
        let (store, _) = open(&machine).unwrap_or_else(|error| panic!("{what}, third recovery: {error}"));
        run.check(&store, power, &format!("{what}, afterwards"));
    }
}

const SEQUENCES: &[&[Step]] = {
    use Step::{Apply as A, Checkpoint as C, Close as X, Drop as D, Flush as F, Sync as S};
    &[
        &[A, F],
        &[A, F, A, F, S, A, F, A, F],
        &[A, A, A, F, A, A, A, F, A, A, A, F],
        &[A, F, A, F, C, A, F, C, C, A, F],
        &[A, S, A, A, A, F, A, A, A, F, A, C, A, F, A, S, A, F],
        &[A, F, X, A, F, X, C, A, X],
        &[A, F, D, A, D, C, A, D, A, S, D, A, F],
    ]
};

#[test]
fn process_crash_at_every_point() {
    SEQUENCES.iter().for_each(|steps| crash_everywhere(steps, false, open));
}

#[test]
fn process_crash_at_every_point_of_the_tree() {
    SEQUENCES.iter().for_each(|steps| crash_everywhere(steps, false, open_with_tree));
}

#[test]
fn power_cut_at_every_point_of_the_tree() {
    SEQUENCES.iter().for_each(|steps| crash_everywhere(steps, true, open_with_tree));
}

#[test]
fn power_cut_at_every_point() {
    SEQUENCES.iter().for_each(|steps| crash_everywhere(steps, true, open));
}

#[test]
fn random_sequences_with_a_power_cut_somewhere() {
    random_sequences(1500, 60, open);
}

#[test]
fn random_sequences_with_a_power_cut_somewhere_in_the_tree() {
    random_sequences(1500, 150, open_with_tree);
}

fn random_sequences(rounds: u64, points: u64, open: Opener) {
    let mut random = SplitMix64::new(2026);
    for round in 0..rounds {
        let steps: Vec<Step> = (0..3 + random.below(20))
            .map(|_| match random.below(12) {
                0..=5 => Step::Apply,
                6..=8 => Step::Flush,
                9 => Step::Sync,
                10 => Step::Checkpoint,
                _ => [Step::Close, Step::Drop][random.below(2) as usize],
            })
            .collect();
        let power = random.coin();
        let (machine, mut run) = (Machine::new(round), Run::new(round, open));
        machine.crash_at(random.below(points));
        // Ends in an error only if the point was reached.
        assert_eq!(run.steps(&machine, &steps).is_err(), machine.is_down());
        if power {
            machine.power_cut()
        } else {
            machine.process_crash()
        }
        let what = format!("round {round}, {steps:?}, power {power}");
        let (store, _) = open(&machine).unwrap_or_else(|error| panic!("{what}: {error}"));
        run.check(&store, power, &what);
    }
}
