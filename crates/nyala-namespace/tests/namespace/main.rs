// SPDX-License-Identifier: Apache-2.0

//! The state machine of a metadata server, asked as a service asks it.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod delegations;
mod fragments;
mod golden;
mod half_moved;
mod limits;
mod lock_waits;
mod lost_rows;
mod machine;
mod names;
mod repair;
mod replay;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod taken_over;
