// SPDX-License-Identifier: Apache-2.0

//! Pure: the protocol between the members of a mirror group. `docs/replication.md` explains it.
//!
//! A [`Member`] is one target's part in its group. The shell feeds it [`Input`]s (maps, leases, requests, messages, ends of
//! disk work, the time) and carries out its [`Effect`]s; it does no I/O, reads no clock and draws no random number. Data
//! never passes through it: a [`Ticket`] names a buffer that the shell holds.
//!
//! **Failure model.** Messages are lost, late, repeated and reordered; members stop, lose power (what was not flushed is lost,
//! kept or torn), come back, stand still for a while and go on with an old view. Clients repeat themselves, and old copies of
//! their requests arrive late. Disk work fails. What the member counts on: management decides one thing at a time and hands out
//! leases that end before it gives a right to somebody else; rows that were asked for as durable stay, and rows are lost only from
//! the end; disk work that was reported as done survives the death of the process.

// `mutations` is a feature of nyala-replica-breakable, which is made of this code; here it does not exist.
#![allow(unexpected_cfgs)]

pub mod clients;
pub mod config;
pub mod effect;
pub mod flush_set;
pub mod input;
pub mod lists;
pub mod log;
pub mod member;
pub mod message;
pub mod numbers;
pub mod progress;
pub mod questions;
pub mod range_locks;
pub mod refusals;
pub mod regions;
pub mod role;
pub mod rows;
pub mod rules;
pub mod session_fences;
pub mod share;
pub mod silence;
pub mod tracking;

pub use config::Config;
pub use effect::{Answer, Effect};
pub use flush_set::FlushSet;
pub use input::{Input, Job, Operation, Request, Ticket, Token, View};
pub use member::Member;
pub use message::{Body, Change, Envelope};
pub use numbers::ByNumber;
pub use progress::Progress;
pub use questions::{Question, QuestionsUnderWay};
pub use refusals::Refusals;
pub use regions::{RegionSet, Runs, Span};
pub use role::MemberRole;
pub use rows::{Row, RowKey};
pub use rules::{LogRule, Rule};
pub use session_fences::FENCES;
pub use silence::Silence;
