// SPDX-License-Identifier: Apache-2.0

//! Pools of spares as a table.

use super::boxed::{Cell, boxed};
use super::pools::{Pool, Pools};

const HEADS: [&str; 4] = ["name", "drives", "state", "raids"];

/// The table as text.
pub fn shown(pools: &Pools) -> String {
    let row = |pool: &Pool| -> Vec<Cell> {
        let states = pool.drives.iter().map(|drive| state(drive).to_owned()).collect();
        let sets = if pool.sets.is_empty() { vec!["-".to_owned()] } else { pool.sets.clone() };
        vec![vec![pool.name.clone()], pool.drives.clone(), states, sets]
    };
    boxed("Pools", &HEADS, &pools.pool.iter().map(row).collect::<Vec<_>>())
}

/// How a spare is, as far as this host sees it.
pub fn state(drive: &str) -> &'static str {
    if drive.starts_with("net://") {
        return "-";
    }
    let Ok(entries) = std::fs::read_dir(drive) else { return "offline" };
    let is_new = entries.flatten().all(|entry| entry.file_name() == "lost+found");
    if is_new { "free" } else { "taken" }
}
