// SPDX-License-Identifier: Apache-2.0

//! A comparison for people. Pure.

use super::compare::{Cell, Comparison, Verdict};
use super::kind::Kind;
use crate::document::{Document, Table};
use crate::report::table::figure;

/// In how many rows this is the verdict.
fn count(compared: &Comparison, verdict: Verdict) -> usize {
    compared.comparison.iter().filter(|row| row.verdict == Some(verdict)).count()
}

/// For people.
pub fn document(compared: &Comparison) -> Document {
    let mut document = Document::default();
    let copies = if compared.copies > 1 { "two copies of content" } else { "one copy of content" };
    document.text(format!(
        "Rates, and below each the CPU of all servers and the mount in µs for an operation or a MiB; {copies}. BY-BEST is our rate by that of the best other\n\n"
    ));
    let Some(widest) = compared.comparison.iter().max_by_key(|row| row.systems.len()) else { return document };
    let names = widest.systems.iter().map(|cell| cell.system);
    let heads: Vec<&'static str> = ["WORKLOAD", "OPERATION", "UNIT"]
        .into_iter()
        .chain(names.clone().map(Kind::name))
        .chain(["BY-BEST", ""])
        .collect();
    let mut table = Table::new(&heads);
    for row in &compared.comparison {
        let of = |system: Kind, what: fn(&Cell) -> f64| {
            figure(row.systems.iter().find(|cell| cell.system == system).map(what))
        };
        let verdict = match row.verdict {
            Some(Verdict::First) => "first",
            Some(Verdict::Level) => "level",
            Some(Verdict::Behind) => "BEHIND",
            None => "",
        };
        let rates = names.clone().map(|system| of(system, |cell| cell.rate));
        let begin = [row.workload.clone(), row.step.clone(), row.unit.to_owned()];
        table.row(begin.into_iter().chain(rates).chain([figure(row.by_best), verdict.to_owned()]));
        let costs = names.clone().map(|system| of(system, |cell| cell.cpu_us));
        let begin = [String::new(), String::new(), "µs CPU".to_owned()];
        table.row(begin.into_iter().chain(costs).chain([figure(row.cpu_by_best), String::new()]));
    }
    document.table(table);
    if compared.comparison.iter().any(|row| row.verdict.is_some()) {
        let [first, level, behind] =
            [Verdict::First, Verdict::Level, Verdict::Behind].map(|verdict| count(compared, verdict));
        document.text(format!("\nFirst in {first} rows, level in {level}, behind in {behind}\n"));
    }
    for remark in &compared.remarks {
        document.text(format!("{remark}\n"));
    }
    document
}
