// SPDX-License-Identifier: Apache-2.0

//! What `nyala meta` shows.

use crate::output::Table;
use crate::units::Span;
use nyala_wire::map::Rebalance;
use nyala_wire::{Slot, TargetId};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A metadata server.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ServerRow {
    pub target: TargetId,
    pub node: String,
    pub slots: usize,
    /// Slots that are on their way to other servers, and from others to it.
    pub leaving: usize,
    pub coming: usize,
    /// Slots that are going to be moved to it by themselves.
    pub planned: usize,
    /// Absent: it does not answer.
    pub inodes: Option<u64>,
    /// Whether a server that joins gets its share by itself; the same for all.
    pub automatic: bool,
}

/// A move that is, or would be, ordered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MoveRow {
    pub slot: Slot,
    pub from: Option<TargetId>,
    pub to: TargetId,
}

/// Metadata servers as a table.
pub(super) fn servers(rows: &[ServerRow], rebalance: &Rebalance) -> String {
    let mut table = Table::new(&["TARGET", "NODE", "SLOTS", "LEAVING", "COMING", "PLANNED", "INODES"]);
    for row in rows {
        table.row([
            row.target.to_string(),
            row.node.clone(),
            row.slots.to_string(),
            row.leaving.to_string(),
            row.coming.to_string(),
            row.planned.to_string(),
            row.inodes.map_or_else(|| "-".to_owned(), |inodes| inodes.to_string()),
        ]);
    }
    table.render() + &automatic(rebalance)
}

fn automatic(rebalance: &Rebalance) -> String {
    let span = |ms: u32| Span(Duration::from_millis(u64::from(ms)));
    match rebalance.automatic {
        true => format!(
            "a server that joins gets its share once it has been good for {}: {} at once, {} apart\n",
            span(rebalance.settle_ms),
            rebalance.at_once,
            span(rebalance.pause_ms)
        ),
        false => "a server that joins gets slots by order only; see nyala meta automatic\n".to_owned(),
    }
}

/// Moves as a table, summed up.
pub(super) fn moves(rows: &[MoveRow], yes: bool) -> String {
    if rows.is_empty() {
        return "nothing is to be moved\n".to_owned();
    }
    let mut sums: BTreeMap<(Option<TargetId>, TargetId), usize> = BTreeMap::new();
    rows.iter().for_each(|row| *sums.entry((row.from, row.to)).or_default() += 1);
    let mut table = Table::new(&["FROM", "TO", "SLOTS"]);
    for ((from, to), slots) in sums {
        let from = from.map_or_else(|| "-".to_owned(), |from| from.to_string());
        table.row([from, to.to_string(), slots.to_string()]);
    }
    let hint = if yes { "" } else { "nothing is changed; with --yes it is done\n" };
    table.render() + hint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_summed_and_nothing_is_done_unasked() {
        let row = |slot, to| MoveRow { slot: Slot(slot), from: Some(TargetId(1)), to: TargetId(to) };
        let text = moves(&[row(1, 2), row(2, 2), row(3, 3)], false);
        assert!(text.contains("   1   2      2\n") && text.ends_with("with --yes it is done\n"), "{text}");
        assert!(!moves(&[row(1, 2)], true).contains("--yes"));
        assert!(moves(&[], false).contains("nothing is to be moved"));
        let mut rebalance = Rebalance::default();
        assert!(
            servers(&[], &rebalance).ends_with("good for 60s: 1 at once, 1s apart\n"),
            "{}",
            servers(&[], &rebalance)
        );
        rebalance.automatic = false;
        assert!(servers(&[], &rebalance).ends_with("see nyala meta automatic\n"));
    }
}
