// SPDX-License-Identifier: Apache-2.0

//! Mirror groups: the shell around `nyala_replica::Member`, which decides everything (`docs/replication.md`).
//!
//! ```text
//! connection threads ─┬─ Shell::step: the member decides (a lock, never across a wait) ── Ask ──► supervisor (management)
//! the groups' thread ─┘      └─► the same thread: chunk files (InlinePath, workers), other members (its own connections)
//! ```
//!
//! A request stays on the thread that received it: it decides with the member, does the disk work, sends to the other members and
//! hears their answers. Time, maps, fences and what follows from them happen on one thread for all groups.
//!
//! | File | |
//! |---|---|
//! | `parse` | frames of clients and members: what they ask; everything is checked here |
//! | `entry` | what connection threads hand to members |
//! | `thread_context` | what each thread has of its own |
//! | `groups_thread` | the thread of time, maps and fences |
//! | `supervisor` | maps to the members, news to management |
//! | `forget` | groups that are no more |
//! | `common` | figures, connections of all threads |
//! | `fencing` | sessions whose writes are refused |
//! | `state`, `action`, `shell` | a step of the member, and what follows from it |
//! | `waits` | who waits, and for how long |
//! | `asked` | clients' requests |
//! | `work` | disk work that the member wants done |
//! | `hearing`, `sending`, `frames` | messages from and to other members |
//! | `silence` | members that cannot be reached |
//!
//! # Failure model
//! - Members and clients are late, repeat themselves and vanish: `nyala_replica` deals with that. A request that got no answer within
//!   a minute is answered `NOT_READY`, so that nothing waits here for ever.
//! - What no member could do (a removed file, an offset too large) must not look like a failing disk: it is refused before it is
//!   ordered, or counts as done with a refusal for the client.
//! - A full disk is refused before it is full. A member that is full alone counts as failing.
//! - A fenced session: its writes that were let in are over before the fence is answered, and whoever leads later knows of it.
//! - A step panics: that member is not served any more, until the service is started again.
//! - The process dies: rows of intents are on disk before changes begin; `Member::open` gets what is there.

mod action;
mod asked;
mod common;
mod entry;
mod fencing;
mod forget;
mod frames;
pub mod fuzzing;
mod groups_thread;
mod hearing;
mod parse;
mod sending;
mod shell;
mod silence;
mod state;
mod supervisor;
mod thread_context;
mod waits;
mod work;

pub(super) use action::Answered;
pub(super) use entry::Mirrors;
pub(super) use hearing::{bundle, message};
pub(super) use supervisor::{Supervisor, supervise};
pub(super) use thread_context::ThreadContext;
