// SPDX-License-Identifier: Apache-2.0

//! The last changes of the cluster state, in sentences for people: what became of whom, when, and why. A bounded list in the memory of each
//! management node; it is no part of the state, and nothing is decided by it.

mod mood;
mod what;
mod why;

pub use mood::Mood;

use crate::{ClusterState, Command, Event};
use nyala_wire::MapVersion;
use std::collections::VecDeque;

/// Most changes that are remembered.
pub const MOST_CHANGES: usize = 500;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When this node applied it, milliseconds since 1970; `None`: before it was started.
    pub at_ms: Option<u64>,
    /// Version of the map since then.
    pub version: MapVersion,
    /// Whether it is for the better.
    pub mood: Mood,
    /// What changed.
    pub what: String,
    /// What it came from.
    pub why: String,
}

/// The last changes, oldest first.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    changes: VecDeque<Change>,
}

impl ChangeLog {
    /// A command made one state of another.
    pub fn note(
        &mut self,
        at_ms: Option<u64>,
        before: &ClusterState,
        command: &Command,
        events: &[Event],
        after: &ClusterState,
    ) {
        if events.is_empty() {
            return;
        }
        let why = why::why(command, before, after);
        for (mood, what) in what::what(before, events, after) {
            if self.changes.len() == MOST_CHANGES {
                self.changes.pop_front();
            }
            self.changes.push_back(Change { at_ms, version: after.version, mood, what, why: why.clone() });
        }
    }

    /// All of them, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().rev()
    }
}

#[cfg(test)]
mod tests;
