// SPDX-License-Identifier: Apache-2.0

//! Plans as text. Pure.

use super::answer::Answer;
use crate::output::Table;
use nyala_plan::measured::{Measured, Phase};
use nyala_plan::published::{DRIVES_TB, Row};
use nyala_plan::{Bound, Cable, Estimate};

/// All of it.
pub fn shown(answer: &Answer) -> String {
    let mut text = estimate(&answer.estimate, answer.cables_to_switches, answer.cables_to_drives);
    text += &format!("\n{}", bounds(&answer.estimate.bounds));
    if let Some(measured) = &answer.measured {
        text += &format!("\n{}", self::measured(measured));
    }
    if let Some(cables) = &answer.cables {
        text += &format!("\n{}", self::cables(cables));
    }
    let assumed: String = answer.estimate.assumptions.iter().map(|assumed| format!("- {assumed}\n")).collect();
    format!("{text}\nAssumed:\n{assumed}")
}

fn estimate(estimate: &Estimate, switches: usize, drives: usize) -> String {
    let mut table = Table::new(&["WHAT", "ESTIMATE", "LIMITED BY"]);
    table.row(["raw space".into(), format!("{:.0} TB", estimate.raw_tb), String::new()]);
    table.row(["usable space".into(), format!("{:.0} TiB", estimate.usable_tib), String::new()]);
    table.row(["reading".into(), gb_s(estimate.read_gb_s), estimate.read_limit.name().into()]);
    table.row(["writing".into(), gb_s(estimate.write_gb_s), estimate.write_limit.name().into()]);
    table.row(["cables".into(), format!("{switches} to switches, {drives} to drives"), String::new()]);
    table.render()
}

fn bounds(bounds: &[Bound]) -> String {
    let mut table = Table::new(&["PART", "ALLOWS READING", "ALLOWS WRITING"]);
    for bound in bounds {
        table.row([bound.limit.name().to_owned(), gb_s(bound.read_gb_s), gb_s(bound.write_gb_s)]);
    }
    table.render()
}

fn gb_s(rate: f64) -> String {
    // What a small machine gives has digits too.
    if rate < 10.0 { format!("{rate:.2} GB/s") } else { format!("{rate:.1} GB/s") }
}

fn measured(measured: &Measured) -> String {
    let mut table = Table::new(&["MEASURED IN", "READ", "WRITE", "CPU READ", "CPU WRITE"]);
    let cpu = |phase: &Phase| format!("{:.2} s/GB", phase.cpu_s * 1e9 / phase.bytes as f64);
    for one in &measured.directories {
        let rates = [&one.read, &one.write].map(|phase| gb_s(phase.gb_s()));
        table.row([one.path.clone()].into_iter().chain(rates).chain([cpu(&one.read), cpu(&one.write)]));
    }
    format!("{}This machine has {} processors.\n", table.render(), measured.processors)
}

fn cables(cables: &[Cable]) -> String {
    let mut table = Table::new(&["FROM", "PORT", "TO", "PORT", "SPEED"]);
    for cable in cables {
        table.row([
            cable.from.clone(),
            cable.from_port.clone(),
            cable.to.clone(),
            cable.to_port.clone(),
            cable.gbit.map_or("-".to_owned(), |gbit| format!("{gbit} Gbit/s")),
        ]);
    }
    table.render()
}

/// The published table.
pub fn published(rows: &[Row]) -> String {
    let mut table =
        Table::new(&["SITE", "ARRAYS", "4 TB", "8 TB", "12 TB", "16 TB", "READ", "WRITE", "LASTS", "FIGURES"]);
    for row in rows {
        let mut cells = vec![row.name.to_owned(), row.arrays.to_string()];
        cells.extend(DRIVES_TB.iter().zip(&row.usable_tib).map(|(_, tib)| format!("{tib} TiB")));
        cells.extend([row.read_gb_s, row.write_gb_s, row.sustained_gb_s].map(|rate| format!("{rate:.1} GB/s")));
        cells.push(if row.measured { "measured" } else { "sums" }.to_owned());
        table.row(cells);
    }
    table.render()
}
