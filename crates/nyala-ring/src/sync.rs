// SPDX-License-Identifier: Apache-2.0

//! What [`crate::sleep`] is made of: its test puts a checker's atomics here.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
