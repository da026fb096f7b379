// SPDX-License-Identifier: Apache-2.0

//! Directories that may have the wrong number of fragments.

use nyala_wire::InodeId;
use std::collections::VecDeque;

/// Most directories that wait for their turn; others come with their next hint.
const MOST: usize = 4096;

/// In the order of their turns.
#[derive(Debug, Default)]
pub struct Considered(VecDeque<InodeId>);

impl Considered {
    /// One more, unless it waits already.
    pub fn add(&mut self, dir: InodeId) {
        if self.0.len() < MOST && !self.0.contains(&dir) {
            self.0.push_back(dir);
        }
    }

    /// The next one.
    pub fn next(&mut self) -> Option<InodeId> {
        self.0.pop_front()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
