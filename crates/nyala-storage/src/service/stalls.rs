// SPDX-License-Identifier: Apache-2.0

//! Targets whose file system made a connection's thread wait. Failure model: see [`super::inline_path`].

use super::target::Target;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A target that held a thread up for so long is left to its own threads for a while.
const STALL: Duration = Duration::from_millis(10);
const LEFT_ALONE: Duration = Duration::from_millis(250);

/// Identifies a target among those of this process.
pub(super) fn key(target: &Arc<Target>) -> usize {
    Arc::as_ptr(target).addr()
}

/// Until when they are left alone.
#[derive(Default)]
pub(super) struct Stalls {
    until: RefCell<HashMap<usize, Instant>>,
}

impl Stalls {
    /// An operation on the target took so long.
    pub fn took(&self, target: &Arc<Target>, time: Duration) {
        if time > STALL {
            self.until.borrow_mut().insert(key(target), Instant::now() + LEFT_ALONE);
        }
    }

    /// Is the target to be left alone?
    pub fn has(&self, target: &Arc<Target>) -> bool {
        let mut until = self.until.borrow_mut();
        if until.is_empty() {
            return false;
        }
        until.retain(|_, until| *until > Instant::now());
        until.contains_key(&key(target))
    }
}
