// SPDX-License-Identifier: Apache-2.0

//! Figures of rounds, next to what they should be. Pure.

use super::placement::{DATA, PARITY, Placement};
use crate::ratio::Ratio;
use crate::report::aim::{Aim, at_most};
use serde::Serialize;

/// What writing and reading may cost, by what they cost without parity.
const WRITE: f64 = 1.5;
const READ: f64 = 1.05;
/// What may be used on disk, by what was written.
const SPACE: f64 = (DATA + PARITY) as f64 / DATA as f64 + 0.03;

/// What was used in one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// How the files lay.
    pub placement: Placement,
    /// Bytes that were written, and read again.
    pub bytes: u64,
    /// CPU time of all processes until all was written and encoded, microseconds.
    pub write_us: u64,
    /// The same of reading it.
    pub read_us: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// One placement over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// How the files lay.
    pub placement: Placement,
    /// CPU time of all processes for what was written, seconds per GiB.
    pub write_s_per_gib: f64,
    /// The same of what was read.
    pub read_s_per_gib: f64,
    /// The former by what it is without parity.
    pub write: Option<Ratio>,
    /// The latter.
    pub read: Option<Ratio>,
    /// Bytes on disk by bytes of the files.
    pub space: Option<Ratio>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Placement by placement.
    pub placements: Vec<Placed>,
    /// Medians next to what they should be.
    pub aims: Vec<Aim>,
}

fn of(round: &[Cost], placement: Placement) -> Option<&Cost> {
    round.iter().find(|cost| cost.placement == placement).filter(|cost| cost.bytes > 0)
}

fn placed(rounds: &[Vec<Cost>], placement: Placement) -> Option<Placed> {
    let own: Vec<&Cost> = rounds.iter().filter_map(|round| of(round, placement)).collect();
    let gib = own.iter().map(|cost| cost.bytes as f64).sum::<f64>() / (1_u64 << 30) as f64;
    let per_gib = |us: &dyn Fn(&Cost) -> u64| own.iter().map(|cost| us(cost) as f64).sum::<f64>() / 1e6 / gib;
    let by_base = |us: &dyn Fn(&Cost) -> u64| {
        let base = placement.base()?;
        let ratio = |round: &Vec<Cost>| Some(us(of(round, placement)?) as f64 / us(of(round, base)?) as f64);
        Ratio::of(rounds.iter().filter_map(ratio))
    };
    (!own.is_empty()).then(|| Placed {
        placement,
        write_s_per_gib: per_gib(&|cost| cost.write_us),
        read_s_per_gib: per_gib(&|cost| cost.read_us),
        write: by_base(&|cost| cost.write_us),
        read: by_base(&|cost| cost.read_us),
        space: Ratio::of(own.iter().map(|cost| cost.disk_bytes as f64 / cost.bytes as f64)),
    })
}

/// Compares rounds.
pub fn compare(rounds: &[Vec<Cost>]) -> Comparison {
    let placements: Vec<Placed> = Placement::ALL.into_iter().filter_map(|one| placed(rounds, one)).collect();
    let mut aims = Vec::new();
    for placement in Placement::ALL {
        let Some(base) = placement.base() else { continue };
        let found = placements.iter().find(|placed| placed.placement == placement);
        let (name, base) = (placement.name(), base.name());
        let median = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.median);
        let aim = |what: String, ratio, limit| at_most(&what, median(ratio), limit, "×").because("nothing was written");
        aims.push(aim(format!("CPU written, {name} ÷ {base}"), found.and_then(|found| found.write), WRITE));
        aims.push(aim(format!("CPU read, {name} ÷ {base}"), found.and_then(|found| found.read), READ));
        aims.push(aim(format!("space, {name} ÷ bytes of files"), found.and_then(|found| found.space), SPACE));
    }
    Comparison { placements, aims }
}
