// SPDX-License-Identifier: Apache-2.0

//! What all services say is busy, put together: rates by inode. Pure.

use nyala_wire::InodeId;
use nyala_wire::busiest::{BusiestReply, BusyInode, BusyInodes};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// What is done with a file or directory in each second, at least: estimates from samples, less what may be of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BusyRow {
    /// The inode; as JSON in words, since it is larger than what all readers of numbers know.
    #[serde(serialize_with = "in_words")]
    pub inode: InodeId,
    /// Where it lies; missing: it was not found, or is gone.
    pub path: Option<String>,
    /// Requests to services. Of directories: about names in them.
    pub requests: f64,
    /// Of them, those that change something. Of directories: names.
    pub changes: f64,
    /// Bytes read from storage.
    pub read_bytes: f64,
    /// Bytes written to it.
    pub written_bytes: f64,
}

fn in_words<S: Serializer>(inode: &InodeId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(inode)
}

/// By what rows are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Requests.
    Requests,
    /// Bytes read and written.
    Bytes,
}

/// What services said, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BusyRates {
    files: BTreeMap<InodeId, BusyRow>,
    directories: BTreeMap<InodeId, BusyRow>,
}

impl BusyRates {
    /// What one service said.
    pub fn add(&mut self, said: &BusiestReply) {
        // In the first second a rate would be anything.
        let seconds = said.covered_ms.max(1000) as f64 / 1e3;
        let rate = |count: u64| count as f64 / seconds;
        each(&said.requests, &mut self.files, |row, sure, part| {
            row.requests += rate(sure);
            row.changes += rate(part);
        });
        each(&said.bytes, &mut self.files, |row, sure, part| {
            row.read_bytes += rate(sure - part);
            row.written_bytes += rate(part);
        });
        each(&said.directories, &mut self.directories, |row, sure, part| {
            row.requests += rate(sure);
            row.changes += rate(part);
        });
    }

    /// The busiest inodes that are no directories as far as is known, at most so many.
    pub fn files(&self, by: Measure, most: usize) -> Vec<BusyRow> {
        busiest(&self.files, by, most)
    }

    /// The busiest directories, or fragments of them.
    pub fn directories(&self, most: usize) -> Vec<BusyRow> {
        busiest(&self.directories, Measure::Requests, most)
    }
}

/// `sure`: what is certain; `part`: of that.
fn each(said: &BusyInodes, rows: &mut BTreeMap<InodeId, BusyRow>, mut add: impl FnMut(&mut BusyRow, u64, u64)) {
    for BusyInode { inode, count, error, part } in &said.inodes {
        let sure = count.saturating_sub(*error);
        let row = rows.entry(*inode).or_insert_with(|| BusyRow { inode: *inode, ..BusyRow::default() });
        add(row, sure, sure.min(*part));
    }
}

fn busiest(rows: &BTreeMap<InodeId, BusyRow>, by: Measure, most: usize) -> Vec<BusyRow> {
    let mut rows: Vec<BusyRow> = rows.values().filter(|row| measured(row, by) > 0.0).cloned().collect();
    order(&mut rows, by);
    rows.truncate(most);
    rows.iter_mut().for_each(round);
    rows
}

/// To tenths: they are estimates.
fn round(row: &mut BusyRow) {
    for value in [&mut row.requests, &mut row.changes, &mut row.read_bytes, &mut row.written_bytes] {
        *value = (*value * 10.0).round() / 10.0;
    }
}

/// The busiest first.
pub fn order(rows: &mut [BusyRow], by: Measure) {
    rows.sort_by(|one, other| measured(other, by).total_cmp(&measured(one, by)));
}

fn measured(row: &BusyRow, by: Measure) -> f64 {
    match by {
        Measure::Requests => row.requests,
        Measure::Bytes => row.read_bytes + row.written_bytes,
    }
}

/// Rows of one path are one: of the fragments of a directory.
pub fn join_paths(rows: Vec<BusyRow>, by: Measure) -> Vec<BusyRow> {
    let mut joined: Vec<BusyRow> = Vec::new();
    for row in rows {
        match joined.iter_mut().find(|known| row.path.is_some() && known.path == row.path) {
            Some(known) => {
                known.requests += row.requests;
                known.changes += row.changes;
                known.read_bytes += row.read_bytes;
                known.written_bytes += row.written_bytes;
            }
            None => joined.push(row),
        }
    }
    order(&mut joined, by);
    joined
}

#[cfg(test)]
mod tests;
