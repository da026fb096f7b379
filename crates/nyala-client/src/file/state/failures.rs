// SPDX-License-Identifier: Apache-2.0

//! Failures of a file's background writes, for each handle to report once.

use crate::error::Error;

#[derive(Default)]
pub(crate) struct Failures {
    count: u64,
    last: Option<Error>,
}

impl Failures {
    pub(crate) fn add(&mut self, error: Error) {
        self.count += 1;
        self.last = Some(error);
    }

    /// How many there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The last one, if it is not among the first `reported`.
    pub(crate) fn after(&self, reported: u64) -> Option<&Error> {
        self.last.as_ref().filter(|_| reported < self.count)
    }
}
