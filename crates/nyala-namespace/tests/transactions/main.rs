// SPDX-License-Identifier: Apache-2.0

//! Deterministic simulation of operations over several servers: the network loses, repeats, delays and reorders, calls
//! time out, processes die and machines lose power at any step, and clients say again what was acknowledged; then everything comes to
//! rest, and what is there must be one tree, as clients were told. A failing seed names itself; run it alone with `NYALA_SIM_SEED=<seed>`, and more seeds with
//! `NYALA_SIM_TIMES=100`.

mod check;
mod choice;
mod fragments;
mod node;
mod unsynced;
mod world;

use node::Node;
use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, NewEntry, Rename};
use world::{CLIENTS, Faults, SERVERS, World, base, name};

/// Runs faults for a while, then none until nothing is under way.
fn run(world: &mut World, steps: u64) {
    for _ in 0..steps {
        world.step();
        check::never_both_never_neither(world);
    }
    rest(world);
}

fn rest(world: &mut World) {
    (world.faults, world.busy) = (Faults::default(), false);
    for _ in 0..200_000 {
        let quiet = |node: &Node| node.up && node.is_quiet() && node.is_settled(&world.map);
        let quiet = world.nodes.iter().all(quiet) && world.is_settled() && world.map.moves.is_empty();
        if quiet && world.messages.is_empty() && world.clients.iter().all(|client| client.request.is_none()) {
            check::one_tree(world);
            check::own_files(world);
            return;
        }
        world.step();
    }
    let stuck: Vec<String> = world.nodes.iter().map(|node| node.describe()).collect();
    let requests: Vec<_> = world.clients.iter().filter_map(|client| client.request.clone()).collect();
    let (moves, slots) = (&world.map.moves, &world.map.slots);
    panic!(
        "it does not come to rest: {stuck:#?}, {requests:?}, {} messages, {moves:?} {slots:?} {:#?}",
        world.messages.len(),
        world.knowledge()
    );
}

fn seeds(first: u64, count: u64, faults: Faults) {
    let one = std::env::var("NYALA_SIM_SEED").ok().map(|seed| seed.parse::<u64>().expect("a seed is a number"));
    let times = std::env::var("NYALA_SIM_TIMES").map_or(1, |times| times.parse().expect("a number"));
    let (mut done, mut moves, mut splits, count) = (0, 0, [0; 3], count * times);
    for seed in one.map_or(first..first + count, |seed| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, faults);
            run(&mut world, 3_000);
            let counted = |name| world.nodes.iter().map(|node| node.counted(name)).sum::<u64>();
            let splits = ["fragment.added", "fragment.moved", "fragment.dropped"].map(counted);
            (world.clients.iter().map(|client| client.done).sum::<u64>(), world.moved, splits)
        });
        match outcome {
            Ok((operations, moved, resplits)) => {
                (done, moves) = (done + operations, moves + moved);
                splits = std::array::from_fn(|at| splits[at] + resplits[at]);
            }
            Err(why) => {
                eprintln!("NYALA_SIM_SEED={seed}");
                std::panic::resume_unwind(why);
            }
        }
    }
    assert!(faults.moves == 0 || moves > count * 2 || one.is_some(), "slots move: {moves} times");
    let often = splits.iter().all(|times| *times > count / 20);
    assert!(faults.split_above == 0 || often || one.is_some(), "directories are split and become whole: {splits:?}");
    let least = if faults.split_above > 0 { 6 } else { 10 };
    assert!(done > count * least || one.is_some(), "clients get something done: {done} operations");
}

#[test]
fn a_lossy_network() {
    seeds(1_000, 60, Faults { lose: 10, repeat: 10, time_out: 30, ..Faults::default() });
}

#[test]
fn processes_die() {
    seeds(2_000, 80, Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: false, ..Faults::default() });
}

#[test]
fn machines_lose_power() {
    seeds(3_000, 80, Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: true, ..Faults::default() });
}

#[test]
fn slots_move() {
    seeds(4_000, 60, Faults { moves: 10, ..Faults::default() });
}

#[test]
fn slots_move_over_a_lossy_network() {
    seeds(5_000, 60, Faults { lose: 5, repeat: 10, time_out: 20, moves: 10, ..Faults::default() });
}

#[test]
fn slots_move_while_processes_die() {
    seeds(
        6_000,
        80,
        Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: false, moves: 10, ..Faults::default() },
    );
}

#[test]
fn slots_move_while_machines_lose_power() {
    seeds(
        7_000,
        80,
        Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: true, moves: 10, ..Faults::default() },
    );
}

#[test]
fn directories_split() {
    seeds(8_000, 60, Faults { split_above: 2, ..Faults::default() });
}

#[test]
fn directories_split_over_a_lossy_network() {
    seeds(9_000, 60, Faults { lose: 5, repeat: 10, time_out: 20, split_above: 1, ..Faults::default() });
}

#[test]
fn directories_split_while_processes_die() {
    let faults = Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, split_above: 2, ..Faults::default() };
    seeds(10_000, 80, faults);
}

#[test]
fn directories_split_while_machines_lose_power() {
    let faults =
        Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: true, split_above: 2, ..Faults::default() };
    seeds(11_000, 80, faults);
}

#[test]
fn directories_split_while_slots_move_and_machines_lose_power() {
    let faults = Faults { lose: 3, repeat: 5, time_out: 10, crash: 4, power: true, moves: 10, split_above: 2 };
    seeds(12_000, 80, faults);
}

/// All clients do one operation each; each server dies, or loses power, at each step until they are done.
#[test]
fn a_crash_at_every_step() {
    for seed in 0..6 {
        let mut steps = u64::MAX;
        for server in 0..usize::from(SERVERS) {
            for power in [false, true] {
                let mut at = 0;
                while at < steps {
                    let mut world = World::new(seed, Faults::default());
                    world.busy = false;
                    for client in 0..CLIENTS as usize {
                        let op = world.choose(client);
                        world.begin(client, op);
                    }
                    for step in 0..steps.min(100_000) {
                        if step == at {
                            world.crash(server, power);
                        }
                        if step > at && world.clients.iter().all(|client| client.request.is_none()) {
                            steps = steps.min(step);
                            break;
                        }
                        world.step();
                        check::never_both_never_neither(&world);
                    }
                    rest(&mut world);
                    at += 1;
                }
            }
        }
    }
}

/// Three directories, below three servers' own, each move into the next: all together would cut the ring off from the
/// root. Each has another coordinator.
#[test]
fn directories_that_move_into_each_other() {
    for seed in 0..400 {
        let mut world = World::new(seed, Faults::default());
        world.busy = false;
        for n in 1..=SERVERS {
            let entry = NewEntry { parent: base(n), name: name("ring"), perm: 0o755, umask: 0 };
            world.begin(usize::from(n), MetaOp::Mkdir { entry });
        }
        rest(&mut world);
        let all = check::inodes(&world);
        let below = |n| all.iter().find(|(_, record)| record.dir.as_ref().is_some_and(|dir| dir.parent == base(n)));
        let ring: Vec<InodeId> = (1..=SERVERS).map(|n| *below(n).expect("it was made").0).collect();
        for n in 1..=SERVERS {
            let op = MetaOp::Rename(Rename {
                from_parent: base(n),
                from_name: name("ring"),
                to_parent: ring[usize::from(n % SERVERS)],
                to_name: name("moved"),
                no_replace: false,
                exchange: false,
            });
            world.begin(usize::from(n), op);
        }
        let crash = (seed % 2) as usize * 3;
        world.faults = Faults { lose: 2, repeat: 2, time_out: 5, crash, power: seed % 4 == 3, ..Faults::default() };
        run(&mut world, 400);
    }
}
