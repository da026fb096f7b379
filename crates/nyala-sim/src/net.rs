// SPDX-License-Identifier: Apache-2.0

//! The network: messages are lost, late, repeated and overtake each other; links are cut, in one direction or both.

use crate::event::Endpoint;
use crate::plan::Plan;
use crate::rng::Rng;

/// A cut between two places, up to a time.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Messages from here …
    pub from: Endpoint,
    /// … to there are lost …
    pub to: Endpoint,
    /// … until then, microseconds.
    pub until_us: u64,
}

/// Up to a time, what a server asks of management arrives a second time, later: it asks again, another management server
/// than before, and both pass it on to the leader.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// The server.
    pub from: Endpoint,
    /// Until then, microseconds.
    pub until_us: u64,
}

/// The network.
pub struct Net {
    loss: u64,
    twice: u64,
    delay_us: u64,
    late: u64,
    /// Cuts, also old ones.
    pub cuts: Vec<Cut>,
    /// Echoes, also old ones.
    pub echoes: Vec<Echo>,
}

impl Net {
    /// As the plan says.
    pub fn new(plan: &Plan) -> Net {
        Net {
            loss: plan.loss,
            twice: plan.twice,
            delay_us: plan.delay_us,
            late: plan.late,
            cuts: Vec::new(),
            echoes: Vec::new(),
        }
    }

    /// After which delay what a server asks of management now arrives once more, if it does.
    pub fn echo(&self, rng: &mut Rng, from: Endpoint, now_us: u64) -> Option<u64> {
        let echoes = self.echoes.iter().any(|echo| echo.from == from && now_us < echo.until_us);
        echoes.then(|| rng.range(50_000, 600_000))
    }

    /// Whether messages get through.
    pub fn open(&self, from: Endpoint, to: Endpoint, now_us: u64) -> bool {
        !self.cuts.iter().any(|cut| cut.from == from && cut.to == to && now_us < cut.until_us)
    }

    /// The delays after which copies of a message arrive.
    pub fn delays(&self, rng: &mut Rng, from: Endpoint, to: Endpoint, now_us: u64) -> Vec<u64> {
        if !self.open(from, to, now_us) || (self.loss > 0 && rng.percent(self.loss)) {
            return Vec::new();
        }
        let copies = if self.twice > 0 && rng.percent(self.twice) { 2 } else { 1 };
        let delay = |rng: &mut Rng| {
            let late = self.late > 0 && rng.percent(self.late);
            if late { rng.range(self.delay_us, 900_000) } else { rng.range(50, self.delay_us) }
        };
        (0..copies).map(|_| delay(rng)).collect()
    }

    /// No more faults.
    pub fn heal(&mut self) {
        self.cuts.clear();
        self.echoes.clear();
        (self.loss, self.twice, self.late) = (0, 0, 0);
    }
}
