// SPDX-License-Identifier: Apache-2.0

//! What pages show: values made of [`crate::Facts`], before anything is drawn.

pub mod clients;
pub mod mirrors;
pub mod overview;
pub mod slots;
pub mod targets;
pub mod topology;

/// Most rows of a long table.
pub const MOST_ROWS: usize = 100;

/// A list that is cut, and how many are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut<T> {
    /// What is shown.
    pub rows: Vec<T>,
    /// How many more there are.
    pub more: usize,
}

impl<T> Cut<T> {
    /// The first of them.
    pub fn of(mut rows: Vec<T>, most: usize) -> Cut<T> {
        let more = rows.len().saturating_sub(most);
        rows.truncate(most);
        Cut { rows, more }
    }
}

/// The largest by a key, in falling order, then by name; the others are only counted.
pub fn largest<T>(all: &[T], most: usize, by: impl Fn(&T) -> f64, name: impl Fn(&T) -> &str) -> Cut<&T> {
    let mut rows: Vec<&T> = all.iter().collect();
    let order = |a: &&T, b: &&T| by(b).total_cmp(&by(a)).then_with(|| name(a).cmp(name(b)));
    if rows.len() > most && most > 0 {
        rows.select_nth_unstable_by(most - 1, order);
    }
    let mut cut = Cut::of(rows, most);
    cut.rows.sort_by(order);
    cut
}

#[cfg(test)]
mod tests;
