// SPDX-License-Identifier: Apache-2.0

//! Looks for an order of operations in which every answer is right. Pure.

use super::operation::{Entry, NAMES, Nanos};
use super::state::{State, Value, after};
use std::collections::HashSet;

/// Places in the search that are looked at; beyond, nothing is said about a directory.
const MOST: usize = 300_000;

/// What comes of looking at a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    /// There are too many orders to look at.
    NotKnown,
    Wrong(String),
}

/// All orders that may be, one step at a time.
struct Search<'a> {
    /// By their beginning.
    entries: &'a [Entry],
    seen: HashSet<(Vec<u64>, State)>,
    /// The most operations that were in order, and what could not follow.
    deepest: (usize, Option<(State, Vec<usize>)>),
}

/// A place in the search: what is done, and what the names are by that.
struct Branch {
    done: Vec<u64>,
    count: usize,
    /// The latest beginning of what is done.
    newest: Nanos,
    state: State,
}

/// Whether there is an order of these, which are sorted by their beginning.
pub fn judge(entries: &[Entry]) -> Verdict {
    Search { entries, seen: HashSet::new(), deepest: (0, None) }.run()
}

impl Search<'_> {
    fn run(mut self) -> Verdict {
        let done = vec![0; self.entries.len().div_ceil(64)];
        let mut branches = vec![Branch { done, count: 0, newest: 0, state: [Value::Free; NAMES.len()] }];
        while let Some(branch) = branches.pop() {
            if self.seen.len() > MOST {
                return Verdict::NotKnown;
            }
            let (next, left) = self.next(&branch);
            if !left {
                return Verdict::Fine;
            }
            if branch.count >= self.deepest.0 {
                self.deepest = (branch.count, Some((branch.state, next.clone())));
            }
            // The last one is looked at first: what was told before what was not, the earliest first.
            for number in next.into_iter().rev() {
                let entry = self.entries[number];
                for state in after(&branch.state, entry.op, entry.outcome) {
                    let mut done = branch.done.clone();
                    done[number / 64] |= 1 << (number % 64);
                    if self.seen.insert((done.clone(), state)) {
                        let is_known = entry.is_known();
                        let (count, newest) = (branch.count + usize::from(is_known), branch.newest.max(entry.begun));
                        branches.push(Branch { done, count, newest, state });
                    }
                }
            }
        }
        Verdict::Wrong(self.what_is_wrong())
    }

    /// What may come next, those first that were told; and whether any of these is left.
    fn next(&self, branch: &Branch) -> (Vec<usize>, bool) {
        let is_done = |number: usize| branch.done[number / 64] >> (number % 64) & 1 == 1;
        let open = || (0..self.entries.len()).filter(|number| !is_done(*number));
        let is_known = |number: &usize| self.entries[*number].is_known();
        let Some(first_end) = open().filter(is_known).map(|number| self.entries[number].ended).min() else {
            return (Vec::new(), false);
        };
        let may =
            |number: &usize| self.entries[*number].begun <= first_end && self.entries[*number].ended >= branch.newest;
        let known = open().filter(is_known).filter(may);
        let unknown = open().filter(|number| !is_known(number)).filter(may);
        (known.chain(unknown).collect(), true)
    }

    fn what_is_wrong(&self) -> String {
        let Some((state, next)) = &self.deepest.1 else { return "nothing is possible".into() };
        let next: Vec<&Entry> = next.iter().map(|number| &self.entries[*number]).collect();
        format!("after {} operations the names are {state:?}, and none of these can follow: {next:?}", self.deepest.0)
    }
}
