// SPDX-License-Identifier: Apache-2.0

//! One seed: a phase with faults, in which nothing may go wrong, then a quiet one, in which everything must come to rest and be equal.

use super::world::{GROUP, World};
use crate::mutation::MetaMutation;
use crate::node::Power;
use crate::run::{Failure, Report};
use nyala_cluster::Command;
use nyala_replica::MemberRole;
use nyala_wire::map::MemberState;

/// The quiet phase may take so long, microseconds of virtual time.
const QUIET_US: u64 = 30_000_000;

/// Most events of a seed.
const MAX_STEPS: u64 = 300_000;

/// Runs a seed; one that fails is run again with its trace.
pub fn run_group(seed: u64, broken: Option<MetaMutation>) -> Result<Report, Box<Failure>> {
    let mut world = World::new(seed, broken, false);
    attempt(&mut world).map_err(|_| {
        let mut world = World::new(seed, broken, true);
        let what = attempt(&mut world).err().unwrap_or_else(|| "it passed the second time".to_owned());
        Box::new(Failure { seed, what, trace: world.trace.text() })
    })
}

fn attempt(world: &mut World) -> Result<Report, String> {
    let safety_us = world.plan.safety_us;
    while world.now_us < safety_us {
        world.step();
        not_spinning(world)?;
        world.trace.verdict()?;
    }
    world.calm();
    let (calm_us, mut asked_us) = (world.now_us, world.now_us);
    while !at_rest(world) {
        world.step();
        not_spinning(world)?;
        world.trace.verdict()?;
        if world.now_us > calm_us + 2_000_000 {
            world.idle = true;
        }
        if world.now_us > asked_us + 500_000 {
            asked_us = world.now_us;
            world.propose(Command::StopResync { group: GROUP, stopped: false });
        }
        if world.now_us > calm_us + QUIET_US {
            let members: Vec<_> =
                world.nodes.iter().map(|n| (n.target, n.member.as_ref().map(|m| (m.role(), m.position())))).collect();
            return Err(format!("not at rest: {}, {members:?}", crate::mgmt_summary(world.group())));
        }
    }
    let first = &world.nodes[0].applied;
    for node in &world.nodes {
        world.check.has_all(node)?;
        let same = node.applied.rows == first.rows && node.applied.state.last == first.state.last;
        if !same || node.applied.state.copying.is_some() {
            return Err(format!(
                "{} and {} differ: {:?}, {:?}",
                node.target, world.nodes[0].target, node.applied, first
            ));
        }
    }
    Ok(Report {
        answered: world.check.count,
        claims: world.check.claimed,
        epochs: world.group().epoch.into(),
        rest_us: world.now_us - calm_us,
    })
}

/// No more things happen than can in so short a time.
fn not_spinning(world: &World) -> Result<(), String> {
    if world.steps > MAX_STEPS { Err("too much goes on for so short a time".to_owned()) } else { Ok(()) }
}

/// Clients want nothing, all are good, one leads, and everything that it has is everywhere.
fn at_rest(world: &World) -> bool {
    let group = world.group();
    let good = group.states.iter().all(|state| *state == MemberState::Good) && group.is_settled();
    let up = world.nodes.iter().all(|node| node.power == Power::Up);
    let members: Vec<_> = world.nodes.iter().filter_map(|node| node.member.as_ref()).collect();
    let last = members.iter().map(|member| member.last()).max();
    let primary = members.iter().find(|member| member.role() == MemberRole::Primary);
    let everywhere = primary.is_some_and(|primary| Some(primary.committed()) == last);
    world.idle && good && up && everywhere && members.iter().all(|member| Some(member.last()) == last)
}
