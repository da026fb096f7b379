// SPDX-License-Identifier: Apache-2.0

//! Rows of the busiest files and directories.

use super::cell::Cell;
use nyala_mon::Busy;
use nyala_mon::logic::busy::BusyRow;

/// Of files.
pub fn files(busy: &Busy) -> Vec<Vec<Cell>> {
    let row = |row: &BusyRow| {
        let (read, written) = (Cell::Bytes(row.read_bytes), Cell::Bytes(row.written_bytes));
        vec![path_cell(row), Cell::Number(row.requests), Cell::Number(row.changes), read, written]
    };
    busy.files.iter().map(row).collect()
}

/// Of directories.
pub fn directories(busy: &Busy) -> Vec<Vec<Cell>> {
    let row = |row: &BusyRow| vec![path_cell(row), Cell::Number(row.requests), Cell::Number(row.changes)];
    busy.directories.iter().map(row).collect()
}

/// A path, or what is known of the inode instead. Names may be anything, also what a terminal would obey.
fn path_cell(row: &BusyRow) -> Cell {
    Cell::Text(match &row.path {
        Some(path) => path.escape_debug().to_string(),
        None => format!("inode {}", row.inode),
    })
}
