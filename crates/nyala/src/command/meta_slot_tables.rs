// SPDX-License-Identifier: Apache-2.0

//! What `nyala meta` shows.

use crate::output::Table;
use nyala_wire::{Slot, TargetId};
use serde::Serialize;
use std::collections::BTreeMap;

/// A metadata server.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ServerRow {
    pub target: TargetId,
    pub node: String,
    pub slots: usize,
    /// Slots that are on their way to other servers, and from others to it.
    pub leaving: usize,
    pub coming: usize,
    /// Absent: it does not answer.
    pub inodes: Option<u64>,
}

/// A move that is, or would be, ordered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MoveRow {
    pub slot: Slot,
    pub from: Option<TargetId>,
    pub to: TargetId,
}

/// Metadata servers as a table.
pub(super) fn servers(rows: &[ServerRow]) -> String {
    let mut table = Table::new(&["TARGET", "NODE", "SLOTS", "LEAVING", "COMING", "INODES"]);
    for row in rows {
        table.row([
            row.target.to_string(),
            row.node.clone(),
            row.slots.to_string(),
            row.leaving.to_string(),
            row.coming.to_string(),
            row.inodes.map_or_else(|| "-".to_owned(), |inodes| inodes.to_string()),
        ]);
    }
    table.render()
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
    }
}
