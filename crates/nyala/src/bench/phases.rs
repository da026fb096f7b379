// SPDX-License-Identifier: Apache-2.0

//! Shows how many phases of a benchmark have ended, and how long the rest takes.

use crate::exit::Failure;
use crate::progress::{Counted, Shown, during_on};
use nyala_bench::{BenchError, Ended};
use std::cell::RefCell;

/// The phases of a benchmark, in one run or several.
pub struct Phases {
    what: String,
    ended: Ended,
    all: u64,
    shown: RefCell<Shown>,
}

impl Phases {
    /// `all` phases of what is called so, which `ended` counts.
    pub fn new(what: &str, ended: &Ended, all: u64) -> Phases {
        Phases { what: what.to_owned(), ended: ended.clone(), all, shown: RefCell::default() }
    }

    /// Runs some of them.
    pub async fn during<T>(&self, run: impl Future<Output = Result<T, BenchError>>) -> Result<T, Failure> {
        let look = || (self.ended.count(), Some(self.all));
        let run = during_on(&self.shown, &self.what, Counted::Things("phases"), look, run);
        run.await.map_err(BenchError::into)
    }
}
