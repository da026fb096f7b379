// SPDX-License-Identifier: Apache-2.0

//! Mirror groups: the shell around `nyala_replica::Member`, which decides everything (`docs/replication.md`).
//!
//! ```text
//! connection threads ── Event ──► one thread per group that a target here belongs to ── Ask ──► supervisor (management)
//!                                   Shell: Member, buffers ──► worker threads of the target, other members
//! ```
//!
//! | File | |
//! |---|---|
//! | `parse` | frames of clients and members: what they ask; everything is checked here |
//! | `entry` | from connection threads to the shells and back |
//! | `supervisor` | maps to the shells, news to management |
//! | `forget` | groups that are no more |
//! | `fencing` | sessions whose writes are refused |
//! | `shell`, `asked` | the thread of a member: inputs, clients' requests |
//! | `work` | disk work that the member wants done |
//! | `sending` | messages to other members |
//! | `silence` | members that cannot be reached |
//!
//! # Failure model
//! - Members and clients are late, repeat themselves and vanish: `nyala_replica` deals with that. A request that got no answer within
//!   a minute is answered `NOT_READY`, so that nothing waits here for ever.
//! - What no member could do (a removed file, an offset too large) must not look like a failing disk: it is refused before it is
//!   ordered, or counts as done with a refusal for the client.
//! - A full disk is refused before it is full. A member that is full alone counts as failing.
//! - A fenced session: its writes that were let in are over before the fence is answered, and whoever leads later knows of it.
//! - The process dies: rows of intents are on disk before changes begin; `Member::open` gets what is there.

mod asked;
mod entry;
mod fencing;
mod forget;
pub mod fuzzing;
mod parse;
mod sending;
mod shell;
mod silence;
mod supervisor;
mod work;

pub(super) use entry::{Answered, Mirrors};
pub(super) use supervisor::{Supervisor, supervise};
