// SPDX-License-Identifier: Apache-2.0

//! What a member's lease is made of: its test puts a checker's atomics here.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
