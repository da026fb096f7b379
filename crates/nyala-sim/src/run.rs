// SPDX-License-Identifier: Apache-2.0

//! One seed: a phase with faults, in which nothing may go wrong, then a quiet one, in which everything must come to rest;
//! then every block is read, and the disks are compared.

use crate::check::{equal, quiet};
use crate::decide::summary;
use crate::disk::{BLOCK, MAX_BLOCKS};
use crate::event::Asked;
use crate::mutation::Mutation;
use crate::world::{GROUP, World};
use nyala_cluster::Command;
use nyala_replica::Span;
use std::fmt;

/// The quiet phase may take so long, microseconds of virtual time.
const QUIET_US: u64 = 30_000_000;

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was wrong.
    pub what: String,
    /// The last things that went on.
    pub trace: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}seed {}: {}", self.trace, self.seed, self.what)?;
        write!(f, "again: cargo run --release -p nyala-sim -- --seed {}", self.seed)
    }
}

/// What a seed did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that clients got answers to.
    pub answered: u64,
    /// New primaries of metadata groups that said that they have everything that was answered for.
    pub claims: u64,
    /// The group's last epoch.
    pub epochs: u64,
    /// Time until everything was at rest, microseconds.
    pub rest_us: u64,
}

/// Runs a seed; one that fails is run again with its trace.
pub fn run(seed: u64, broken: Option<Mutation>) -> Result<Report, Box<Failure>> {
    match attempt(World::new(seed, broken, false)) {
        Ok(report) => Ok(report),
        Err(_) => {
            let mut world = World::new(seed, broken, true);
            let what = attempt_in(&mut world).err().unwrap_or_else(|| "it passed the second time".to_owned());
            Err(Box::new(Failure { seed, what, trace: world.trace.text() }))
        }
    }
}

fn attempt(mut world: World) -> Result<Report, String> {
    attempt_in(&mut world)
}

fn attempt_in(world: &mut World) -> Result<Report, String> {
    go_on(world, world.plan.safety_us)?;
    world.calm();
    let rest_us = rest(world)?;
    let answered: u64 = world.clients.iter().map(|client| client.answered).sum();
    read_all(world)?;
    rest(world)?;
    equal::check(&world.nodes)?;
    Ok(Report { answered, claims: 0, epochs: u64::from(world.group().epoch), rest_us })
}

fn go_on(world: &mut World, until_us: u64) -> Result<(), String> {
    while world.step(until_us) {}
    world.now_us = world.now_us.max(until_us.min(world.now_us + 1));
    world.wrong.take().map_or(Ok(()), Err)
}

/// Waits until everything is at rest; how long that took.
fn rest(world: &mut World) -> Result<u64, String> {
    let began_us = world.now_us;
    loop {
        let Some(unrest) = quiet::unrest(world.group(), &world.nodes, &world.clients) else {
            return Ok(world.now_us - began_us);
        };
        if world.now_us > began_us + QUIET_US {
            return Err(format!("no rest: {unrest}; {}", summary(world.group())));
        }
        let until_us = world.now_us + 50_000;
        go_on(world, until_us)?;
        world.now_us = until_us;
        // A proposal of the operator's may have met no leader.
        world.propose(Command::StopResync { group: GROUP, stopped: false });
    }
}

/// Reads every block that was ever touched, once at each good member, as far as chance has it.
fn read_all(world: &mut World) -> Result<(), String> {
    let mut files: Vec<_> = world.fresh.blocks().map(|(file, _)| file).collect();
    files.dedup();
    for file in files {
        for _ in 0..world.nodes.len() {
            let span = Span { start: 0, end: MAX_BLOCKS * BLOCK };
            let now_us = world.now_us;
            world.clients[0].begin(Asked::Read(file, span), now_us);
            world.ask(0);
            let until_us = now_us + 5_000_000;
            while world.clients[0].pending.is_some() && world.step(until_us) {}
            if let Some(what) = world.wrong.take() {
                return Err(what);
            }
            if world.clients[0].pending.is_some() {
                return Err(format!("a read of file {} at rest was not answered", file.inode.0));
            }
        }
    }
    Ok(())
}
