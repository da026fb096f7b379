// SPDX-License-Identifier: Apache-2.0

//! What a seed means: how many take part, how bad the network and how frequent the faults are. Some seeds leave some kinds of
//! faults out, because one kind can hide another.

use crate::rng::Rng;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Members of the group.
    pub members: usize,
    /// Clients.
    pub clients: usize,
    /// Length of the phase with faults, microseconds.
    pub safety_us: u64,
    /// Mean time between faults, microseconds.
    pub fault_every_us: u64,
    /// Kinds of faults, by weight: kill, power cut, pause, partition, one-way cut, leader change, slow disk, failing disk,
    /// switch of the primary, stop of resync, power cut of all, a primary that does not hear that it is none any more, requests to management that
    /// arrive again while a member restarts.
    pub weights: [u64; 13],
    /// Percentage of messages that are lost.
    pub loss: u64,
    /// Percentage of messages that arrive twice.
    pub twice: u64,
    /// Longest ordinary delay of a message, microseconds.
    pub delay_us: u64,
    /// Percentage of messages that are very late.
    pub late: u64,
    /// Percentage of reads.
    pub reads: u64,
    /// Time between a client's requests, microseconds.
    pub pause_us: u64,
    /// Clocks are off by up to so many percent.
    pub drift: u64,
}

impl Plan {
    /// From the seed's chance.
    pub fn new(rng: &mut Rng) -> Plan {
        let mut weights = [6, 6, 4, 5, 3, 3, 4, 2, 3, 2, 1, 3, 3];
        for weight in &mut weights {
            if rng.percent(30) {
                *weight = 0;
            }
        }
        if weights.iter().sum::<u64>() == 0 {
            weights[0] = 1;
        }
        let calm = rng.percent(20);
        Plan {
            members: if rng.percent(45) { 2 } else { 3 },
            clients: rng.range(2, 4) as usize,
            safety_us: rng.range(4_000_000, 9_000_000),
            fault_every_us: rng.range(250_000, 900_000),
            weights,
            loss: if calm { 0 } else { rng.range(0, 4) },
            twice: if calm { 0 } else { rng.range(0, 6) },
            delay_us: rng.range(300, 6000),
            late: if calm { 0 } else { rng.range(0, 3) },
            reads: rng.range(20, 70),
            pause_us: rng.range(2_000, 40_000),
            drift: rng.range(0, 10),
        }
    }
}
