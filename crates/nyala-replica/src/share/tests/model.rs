// SPDX-License-Identifier: Apache-2.0

//! A model of disks, a network and requests that suffer from copies.

use crate::share::{Share, ShareLimits, UnderWay};

const LIMITS: ShareLimits =
    ShareLimits { min_bytes_per_s: 8 << 20, max_bytes_per_s: 4 << 30, slower_percent: 8, interval_ms: 100 };
const COPY: u64 = 1 << 20;
const MIB: f64 = 1_048_576.0;

/// A kind of requests: so many clients, each of which asks again `think_us` after its answer.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub write: bool,
    pub bytes: u64,
    pub clients: usize,
    /// What a request takes without copies, and how much longer at 100 MiB/s of copies, percent.
    pub us: u64,
    pub percent: u64,
    pub think_us: u64,
}

pub(super) const READS: Load = Load { write: false, bytes: 128 << 10, clients: 2, us: 300, percent: 60, think_us: 200 };
pub(super) const WRITES: Load = Load { write: true, bytes: 1 << 20, clients: 2, us: 5000, percent: 0, think_us: 200 };

/// What a model run saw.
#[derive(Debug)]
pub(super) struct Seen {
    /// MiB/s copied.
    pub copied: f64,
    /// Requests done, by kind of load, in percent of what would be done without copies.
    pub done: Vec<f64>,
    /// Highest and lowest rate, MiB/s.
    pub rates: (f64, f64),
}

pub(super) struct Model {
    pub share: Share,
    now_us: u64,
    pub random: u64,
    /// What disks and network can do, bytes of copies a second.
    most: u64,
    /// Copies of this millisecond and of those before, fading: what is noticed.
    noticed: f64,
    room: f64,
    /// Bytes that there are in a region.
    pub size: u64,
}

impl Model {
    pub fn new() -> Model {
        let mut share = Share::new(LIMITS);
        share.tick(1000, UnderWay::default());
        Model { share, now_us: 1000, random: 1, most: 300 << 20, noticed: 0.0, room: 0.0, size: COPY }
    }

    /// From half to one and a half, in the mean one.
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.5 + (self.random >> 40) as f64 / f64::from(1 << 24)
    }

    /// One millisecond of copies, as the rate and the disks let them.
    fn copy(&mut self) -> f64 {
        self.room = (self.room + self.most as f64 / 1000.0).min(4.0 * COPY as f64);
        let mut copied = 0.0;
        while self.room >= COPY as f64 && self.share.take(COPY, self.now_us) {
            self.share.sized(COPY, self.size);
            self.room -= self.size as f64;
            copied += self.size as f64;
        }
        // What is sent now is noticed for some ten milliseconds.
        self.noticed = self.noticed * 0.9 + copied * 1000.0 * 0.1;
        copied
    }

    pub fn run(&mut self, millis: u64, loads: &[Load]) -> Seen {
        let mut due: Vec<(usize, u64)> = Vec::new();
        for (number, load) in loads.iter().enumerate() {
            due.extend((0..load.clients).map(|client| (number, self.now_us + client as u64 * 37)));
        }
        let (mut copied, mut done, mut rates) = (0.0, vec![0_u64; loads.len()], (0.0_f64, f64::MAX));
        let end_us = self.now_us + millis * 1000;
        while self.now_us < end_us {
            self.now_us += 1000;
            let busy = UnderWay { pending: true, copies: usize::from(self.noticed > 1e6), requests: due.len() };
            if self.now_us.is_multiple_of(20_000) {
                self.share.tick(self.now_us, busy);
            }
            copied += self.copy();
            for (number, at_us) in &mut due {
                let load = loads[*number];
                while *at_us < self.now_us {
                    let slower = 1.0 + self.noticed / (100.0 * MIB) * load.percent as f64 / 100.0;
                    let took = (load.us as f64 * slower * self.chance()) as u64;
                    self.share.request(load.write, load.bytes, *at_us, *at_us + took);
                    done[*number] += 1;
                    *at_us += took + load.think_us;
                }
            }
            let rate = self.share.rate() as f64 / MIB;
            rates = (rates.0.max(rate), rates.1.min(rate));
        }
        let alone = |load: &Load| (millis * 1000 * load.clients as u64) as f64 / (load.us + load.think_us) as f64;
        let done = done.iter().zip(loads).map(|(done, load)| *done as f64 * 100.0 / alone(load)).collect();
        Seen { copied: copied * 1000.0 / millis as f64 / MIB, done, rates }
    }
}
