// SPDX-License-Identifier: Apache-2.0

//! What is done, and how much of it. Pure.

use super::trees::Handling;
use crate::plan::{Workload, data, meta};
use std::time::Duration;

/// How much is done.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Tasks that work at once.
    pub tasks: u16,
    /// Files, or random transfers, of each.
    pub files: u64,
    /// Content of each, bytes.
    pub bytes: u64,
    /// Files of the tree.
    pub tree: u64,
    /// Longest time of a phase.
    pub limit: Duration,
}

/// What is done on every file system.
pub fn workloads(sizes: &Sizes) -> Vec<Workload> {
    let names = meta::Sizes { tasks: sizes.tasks.into(), files: sizes.files, seed: 1 };
    let content =
        data::Sizes { tasks: sizes.tasks.into(), bytes: sizes.bytes, transfer: 1 << 20, random: sizes.files, seed: 1 };
    let names = [meta::easy(names), meta::hard(names), meta::small(names), meta::dirs(names)];
    let content = [data::easy(content), data::hard(content), data::random(content)];
    names.into_iter().chain(content).collect()
}

/// How many phases a round has on a file system.
fn phases_of_round(sizes: &Sizes) -> u64 {
    (workloads(sizes).iter().map(|workload| workload.phases.len()).sum::<usize>() + Handling::ALL.len()) as u64
}

/// Phases of all rounds, the first included, which does not count.
pub fn phases(sizes: &Sizes, systems: usize, rounds: u16) -> u64 {
    phases_of_round(sizes) * systems as u64 * (u64::from(rounds) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_a_name_of_its_own() {
        let sizes = Sizes { tasks: 2, files: 10, bytes: 1 << 20, tree: 10, limit: Duration::from_secs(1) };
        let all = workloads(&sizes);
        let mut names: Vec<_> =
            all.iter().flat_map(|workload| &workload.phases).map(|phase| (phase.workload, phase.step.name())).collect();
        assert_eq!(names.len() as u64 + 4, phases_of_round(&sizes));
        names.sort();
        names.dedup();
        // `easy` is a workload of names and one of content.
        assert_eq!(names.len() as u64 + 4, phases_of_round(&sizes));
    }
}
