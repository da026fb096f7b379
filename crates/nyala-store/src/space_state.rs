// SPDX-License-Identifier: Apache-2.0

//! What is known of the room that an open store has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Instant;

use parking_lot::Mutex;

use crate::FreeSpace;
use crate::space::SpaceRule;

/// What is known of the room that there is.
pub(crate) struct SpaceState {
    pub(super) rule: Mutex<SpaceRule>,
    pub(super) may_grow: AtomicBool,
    pub(super) may_complete: AtomicBool,
    pub(super) available_bytes: Arc<AtomicU64>,
    pub(super) unseen_bytes: AtomicUsize,
    /// What the disk had left at the last look.
    pub(super) disk: Mutex<Option<FreeSpace>>,
    /// Checkpoints that ended, well or not, and when the last one did.
    pub(super) attempts: AtomicU64,
    pub(super) last_attempt: Mutex<Option<Instant>>,
}

impl SpaceState {
    pub(crate) fn new(reserve_bytes: u64) -> SpaceState {
        SpaceState {
            rule: Mutex::new(SpaceRule::new(reserve_bytes)),
            may_grow: AtomicBool::new(true),
            may_complete: AtomicBool::new(true),
            available_bytes: Arc::default(),
            unseen_bytes: AtomicUsize::new(0),
            disk: Mutex::default(),
            attempts: AtomicU64::new(0),
            last_attempt: Mutex::new(None),
        }
    }
}
