// SPDX-License-Identifier: Apache-2.0

//! All tests on a real mount once more, with one ring in the session's own thread.
#![expect(clippy::duplicate_mod, reason = "each of the programs contained has its own harness")]

#[path = "caching.rs"]
mod caching;
#[path = "early_reply.rs"]
mod early_reply;
#[path = "killed.rs"]
mod killed;
#[path = "lifecycle.rs"]
mod lifecycle;
#[path = "operations.rs"]
mod operations;
#[path = "requests.rs"]
mod requests;
#[path = "rings.rs"]
mod rings;
