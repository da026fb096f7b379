// SPDX-License-Identifier: Apache-2.0

//! Figures of a cluster by those of the floor, and of mirrored files by those of unmirrored ones. Pure.

use crate::plan::Step;
use crate::report::aim::{Aim, at_most};
use crate::report::aims::{RANDOM_READ, RANDOM_WRITE, READ, Rows, WRITTEN};
use crate::report::{Backend, Cpu, Row};

/// Unit of a ratio to the floor.
pub const UNIT: &str = "× floor";
/// Unit of a ratio of mirrored to unmirrored.
pub const MIRRORED_UNIT: &str = "× unmirrored";

/// A figure by the floor's.
#[derive(Clone, Debug, PartialEq)]
pub struct OfFloor {
    /// The ratio and what it is to be.
    pub aim: Aim,
    /// The floor's own figure: seconds per GiB, or microseconds per operation.
    pub floor: Option<f64>,
    /// The aim that has the same figure as it is.
    pub absolute: Option<&'static str>,
}

/// Whose CPU time is compared.
type Side = fn(&Cpu) -> Option<u64>;
const STORAGE: Side = |cpu| cpu.storage_us;
const CLIENT: Side = |cpu| cpu.client_us;

/// What is compared: its name, workload, step, whose CPU, the most that it may be, and the aim that it stands beside.
type Comparison = (&'static str, &'static str, Step, Side, f64, Option<&'static str>);
const COMPARISONS: [Comparison; 6] = [
    ("storage CPU per GiB written ÷ floor", "easy", Step::Write, STORAGE, 1.25, Some(WRITTEN)),
    ("storage CPU per GiB read ÷ floor", "easy", Step::Read, STORAGE, 1.25, Some(READ)),
    ("storage CPU per 4 KiB random read ÷ floor", "random", Step::RandomRead, STORAGE, 1.5, Some(RANDOM_READ)),
    ("storage CPU per 4 KiB random write ÷ floor", "random", Step::RandomWrite, STORAGE, 1.5, Some(RANDOM_WRITE)),
    ("client CPU per GiB written ÷ floor (native)", "easy", Step::Write, CLIENT, 1.5, None),
    ("client CPU per GiB read ÷ floor (native)", "easy", Step::Read, CLIENT, 1.5, None),
];

/// What mirrored files may cost all storage services, by what unmirrored ones do.
const MIRRORED: [(&str, &str, Step, f64); 4] = [
    ("storage CPU per GiB written, mirrored ÷ unmirrored", "easy", Step::Write, 2.3),
    ("storage CPU per GiB read, mirrored ÷ unmirrored", "easy", Step::Read, 1.1),
    ("storage CPU per 4 KiB random read, mirrored ÷ unmirrored", "random", Step::RandomRead, 1.1),
    ("storage CPU per 4 KiB random write, mirrored ÷ unmirrored", "random", Step::RandomWrite, 2.5),
];

/// Seconds for a GiB of streams, microseconds for an operation of others.
fn cost(row: &Row, side: Side) -> Option<f64> {
    let us = side(&row.cpu);
    if row.is_stream() { row.s_per_gib(us) } else { row.us_per_item(us) }
}

fn ratio(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other.filter(|other| *other > 0.0)?)
}

/// All comparisons with the floor; those that these rows do not answer have no figure.
pub fn of_floor(rows: &[Row], floor: &[Row]) -> Vec<OfFloor> {
    let (rows, floor) = (Rows(rows), Rows(floor));
    let compare = |(what, workload, step, side, most, absolute): Comparison| {
        let ours = rows.get(workload, step, Backend::Native).and_then(|row| cost(row, side));
        let least = floor.get(super::report::WORKLOAD, step, Backend::Floor).and_then(|row| cost(row, side));
        OfFloor { aim: at_most(what, ratio(ours, least), most, UNIT), floor: least, absolute }
    };
    COMPARISONS.into_iter().map(compare).collect()
}

/// All comparisons of mirrored with unmirrored files.
pub fn of_unmirrored(mirrored: &[Row], plain: &[Row]) -> Vec<Aim> {
    let storage = |rows: &[Row], workload, step| {
        Rows(rows).get(workload, step, Backend::Native).and_then(|row| cost(row, STORAGE))
    };
    let compare = |(what, workload, step, most)| {
        let both = (storage(mirrored, workload, step), storage(plain, workload, step));
        at_most(what, ratio(both.0, both.1), most, MIRRORED_UNIT)
    };
    MIRRORED.into_iter().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::row;

    const GIB: u64 = 1 << 30;

    fn cpu(storage_us: u64, client_us: u64) -> Cpu {
        Cpu { storage_us: Some(storage_us), client_us: Some(client_us), ..Cpu::default() }
    }

    fn rows(workload: [&'static str; 2], backend: Backend, factor: u64) -> Vec<Row> {
        let [stream, random] = workload;
        vec![
            row(stream, Step::Write, backend, 2048, GIB, 1.0, cpu(100_000 * factor, 200_000)),
            row(stream, Step::Read, backend, 4096, 2 * GIB, 1.0, cpu(100_000 * factor, 100_000 * factor)),
            row(random, Step::RandomRead, backend, 1000, 4_096_000, 1.0, cpu(4000 * factor, 0)),
        ]
    }

    #[test]
    fn figures_are_held_against_those_of_the_floor() {
        let ours = rows(["easy", "random"], Backend::Native, 3);
        let floor = rows(["floor", "floor"], Backend::Floor, 2);
        let got = of_floor(&ours, &floor);
        let values: Vec<_> = got.iter().map(|one| (one.aim.value, one.floor, one.aim.ok)).collect();
        let expected = [
            (Some(1.5), Some(0.2), false),
            (Some(1.5), Some(0.1), false),
            (Some(1.5), Some(8.0), true),
            (None, None, false),
            (Some(1.0), Some(0.2), true),
            (Some(1.5), Some(0.1), true),
        ];
        for ((value, floor, ok), (want, want_floor, want_ok)) in values.iter().zip(expected) {
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a == b,
            };
            assert!(near(*value, want) && near(*floor, want_floor) && *ok == want_ok, "{got:?}");
        }
        assert_eq!(got[0].aim.measured(), "1.50 × floor");
    }

    #[test]
    fn a_floor_that_is_missing_or_cost_nothing_gives_no_ratio() {
        let ours = rows(["easy", "random"], Backend::Native, 3);
        assert!(of_floor(&ours, &[]).iter().all(|one| one.aim.value.is_none() && one.floor.is_none()));
        let nothing = rows(["floor", "floor"], Backend::Floor, 0);
        assert!(of_floor(&ours, &nothing)[..4].iter().all(|one| one.aim.value.is_none() && !one.aim.ok));
        assert!(of_floor(&[], &nothing).iter().all(|one| one.aim.value.is_none()));
    }

    #[test]
    fn mirrored_files_are_held_against_unmirrored_ones() {
        let plain = rows(["easy", "random"], Backend::Native, 2);
        let mirrored = rows(["easy", "random"], Backend::Native, 4);
        let got: Vec<_> = of_unmirrored(&mirrored, &plain).iter().map(|aim| (aim.value, aim.ok)).collect();
        assert_eq!(got, [(Some(2.0), true), (Some(2.0), false), (Some(2.0), false), (None, false)]);
    }

    #[test]
    fn aims_that_stand_beside_a_ratio_are_there() {
        let all = crate::report::aims::all(&[], &crate::measure::loopback::Loopback::default());
        for (_, _, _, _, _, absolute) in COMPARISONS {
            assert!(absolute.is_none_or(|what| all.iter().any(|aim| aim.what == what)), "{absolute:?}");
        }
    }
}
