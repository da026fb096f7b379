// SPDX-License-Identifier: Apache-2.0

//! A target on a drive set: its chunk files are objects of the set, and so are the log and the table of its store. Who it is lies on every drive.
//!
//! **Failure model.** Drives: that of `nyala-drives`; up to as many of a group as the level has parity may be lost, with what they hold of chunk files and tables alike, since
//! there is one redundancy for both. A chunk file's length is a row of the store, written before the bytes that need it: after a death of the process the file
//! may be longer than what was written, with zeros, and never shorter. What is behind the end is zeros always; a loss of power may
//! break that only where the file was not synced, and such files are cleared when the target is opened. A full drive looks like a failed one to the set, and all are
//! full at the same time: so writes that need space are refused while there is still some. A directory that is missing, empty or of another target is never taken for a
//! drive, and nothing is made of it unless somebody says so. Drives of other hosts: the failure model of `nyala-netdrives`. Two services may be told to serve one target on such
//! drives: it belongs to the one that opened it last, the other one stops, and neither takes drives that are too few, or whose target another one serves.
//! Several targets may have one spare, at several hosts too: whose it is says a file on it, which is made once, before anything else there (`nyala_drives::take_drive`).

mod background;
mod chunk;
mod chunks;
mod delete;
mod delete_look;
mod describe;
mod figures;
mod found;
mod identity;
mod inner;
mod load;
mod make;
mod modify;
mod open;
mod parts;
mod peek;
mod reach;
mod replace;
mod returns;
mod seen;
mod spares;
mod start;
mod survey;
mod upkeep;

pub use chunks::SetChunks;
pub use delete::Deletion;
pub use delete_look::DriveOutcome;
pub use figures::SetFigures;
pub use identity::TargetDir;
pub use load::Load;
pub use make::{DEFAULT_STRIP_BYTES, geometry, make};
pub use open::{OpenSet, open};
pub use parts::{SetParts, parts};
pub use peek::peek_set;
pub use reach::DriveKeys;
pub use start::{Start, start};
pub use survey::{Survey, survey};
pub use upkeep::Upkeep;
