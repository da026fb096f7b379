// SPDX-License-Identifier: Apache-2.0

//! Copies of what management and metadata services keep, made while the service is stopped, and put back into an empty directory.
//!
//! - [`source`]: what a directory is, whether it is whole, and keeping its service from starting meanwhile.
//! - [`manifest`]: what a backup says of itself. [`mod@write`], [`mod@read`]: the file, a gzipped tar.
//!
//! **Failure model.** The service may run: it has the lock, and nothing is copied. The directory may be damaged: its log is replayed and every page of its
//! tables read first, and what is not whole is refused, so that no backup of it takes the place of a good one. The disk may be full, or the command die:
//! a backup has its name only once it is whole and synced. A backup may be cut off or changed: every file in it has a checksum, all are compared before
//! anything has its place, and a directory has its identity last: services refuse what has content and no identity, so none takes half of one for its own; what is left by a
//! death at that moment has to be emptied by hand, which the next attempt says. What a backup cannot know is
//! what happened since: of management, it goes on as after a lost majority ([`nyala_mgmt::go_on_from_copy`]); of metadata, its service says that the tables are old.

mod manifest;
mod read;
mod source;
mod write;

pub use manifest::{Kind, Manifest};
pub use read::{restore, show};
pub use write::create;
