// SPDX-License-Identifier: Apache-2.0

//! Each target is scrubbed by its service: all of it is read once in an interval and compared with its checksums, what is mirrored
//! is repaired, and what is not is remembered for the administrator.
//!
//! # Failure model
//! - The service stops, or the machine loses power: the scrub goes on where it was remembered to be (every 10 s, and at an orderly stop), and
//!   reads a little twice. What was remembered is damaged or of a time to come: the target counts as never scrubbed.
//! - Others use the target: `logic::pace` gives way, and is in time all the same.
//! - Files change and vanish meanwhile: see `chunk_store::walk`.
//! - Metadata or the other member is away: damage is remembered and looked at again, as after each start. It is repaired only where
//!   metadata says that the file is mirrored: elsewhere the other member has no such data to give.
//! - The disk cannot keep what is remembered: that is said, and tried again; nothing else stops.

mod answer;
mod asks;
mod describe;
mod figures;
mod metrics;
mod repairs;
mod rows;
mod scrubs;
mod state;
mod target_scrub;

pub(super) use answer::answer;
pub(super) use metrics::write;
pub(super) use scrubs::Scrubs;
