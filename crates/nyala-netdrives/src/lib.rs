// SPDX-License-Identifier: Apache-2.0

//! Drives of other hosts as members of a drive set: the service that lends them out, and the way to it.
//!
//! A drive service ([`DriveServer`]) has drives of its host, by name. A storage service opens a set of such drives ([`Network::open`]) anywhere, and a target that lies
//! on it outlives the loss of as many hosts as the set's level has parity.
//!
//! **Failure model.** Requests and replies may be lost, late and repeated; a service may die, stop for minutes and go on, and its host may lose what was not synced.
//! One request of an attachment is under way at a time, all of them can be repeated, and an attachment ends the one before: so what is late is refused, and
//! what was lost is sent again. A drive that may have lost something that was not synced (its instance is another) is not taken for the same: it leaves the set and catches up. A
//! drive that cannot be reached for [`GIVE_UP`], whose service does not run for [`GIVE_UP_DEAD`], or that is silent on a request for [`REPLY_WITHIN`] though its host takes
//! what is sent, leaves the set, and comes back when it answers. Two services may want one set: the one with the larger epoch has it, durably; the
//! other stops at the first drive that says so. Two of them cannot both go on with halves of the drives: a set starts only with so many that too few are left for another one (`nyala_raid::assemble`).

mod attachment;
mod effects;
mod error;
mod export;
mod fence;
#[doc(hidden)]
pub mod fuzzing;
mod held;
mod location;
mod network;
mod open_drive;
mod remote;
mod server;
mod thread;

pub use attachment::REPLY_WITHIN;
pub use error::NetError;
pub use held::{GIVE_UP, GIVE_UP_DEAD};
pub use location::{DriveLocation, LocationError};
pub use network::Network;
pub use server::{DriveServer, ExportSpec, ServeError};
