// SPDX-License-Identifier: Apache-2.0

//! Samples of a stretch of time, by column: what most series do is change little, so a value is kept as its difference to the one before.

use super::record::Round;
use super::series::Key;
use super::varint::{put, take, unzigzag, zigzag};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a column occupies besides its bytes, about.
const COLUMN: usize = 96;

/// The values of one series.
#[derive(Clone, Debug, Default)]
struct Column {
    bytes: Vec<u8>,
    /// The round after that of the last value.
    next: u64,
    last: i64,
}

impl Column {
    fn push(&mut self, round: u64, value: i64) {
        let gap = round - self.next;
        // Values are within 2^60, so that a difference leaves a bit free.
        put(&mut self.bytes, zigzag(value - self.last) << 1 | u64::from(gap > 0));
        if gap > 0 {
            put(&mut self.bytes, gap);
        }
        (self.next, self.last) = (round + 1, value);
    }

    fn values(&self) -> impl Iterator<Item = (usize, i64)> {
        let (mut bytes, mut next, mut last) = (self.bytes.as_slice(), 0, 0);
        std::iter::from_fn(move || {
            let token = take(&mut bytes)?;
            let gap = if token & 1 == 1 { take(&mut bytes)? } else { 0 };
            let round = next + gap;
            (next, last) = (round + 1, last + unzigzag(token >> 1));
            Some((round as usize, last))
        })
    }
}

/// Some rounds of samples, in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct Block {
    times: Vec<u64>,
    columns: BTreeMap<Arc<Key>, Column>,
    bytes: usize,
}

impl Block {
    /// Adds a round. Its time is later than that of any before.
    pub fn push(&mut self, time_ms: u64, values: &[(Arc<Key>, i64)]) {
        let round = self.times.len() as u64;
        self.times.push(time_ms);
        self.bytes += 8;
        for (key, value) in values {
            let column = self.columns.entry(key.clone()).or_insert_with(|| {
                self.bytes += COLUMN;
                Column::default()
            });
            // A series has one value in a round.
            if column.next <= round {
                let before = column.bytes.len();
                column.push(round, *value);
                self.bytes += column.bytes.len() - before;
            }
        }
    }

    /// Times of its rounds, milliseconds since 1970.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// Number of its series.
    pub fn series(&self) -> usize {
        self.columns.len()
    }

    /// Time and value of each sample of a series.
    pub fn values<'a>(&'a self, key: &Key) -> impl Iterator<Item = (u64, i64)> + use<'a> {
        let column = self.columns.get(key);
        column.into_iter().flat_map(|column| column.values()).map(|(round, value)| (self.times[round], value))
    }

    /// All of it: each series in order, with its samples.
    pub fn all(&self) -> impl Iterator<Item = (&Arc<Key>, impl Iterator<Item = (u64, i64)>)> {
        self.columns.iter().map(|(key, column)| (key, column.values().map(|(round, value)| (self.times[round], value))))
    }

    /// The rounds again.
    pub fn rounds(&self) -> Vec<Round> {
        let mut rounds: Vec<Round> = self.times.iter().map(|time| (*time, Vec::new())).collect();
        for (key, column) in &self.columns {
            column.values().for_each(|(round, value)| rounds[round].1.push((key.clone(), value)));
        }
        rounds
    }

    /// What it occupies in memory, bytes, about.
    pub fn weight(&self) -> usize {
        self.bytes
    }
}
