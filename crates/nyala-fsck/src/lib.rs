// SPDX-License-Identifier: Apache-2.0

//! A check of the whole file system, without I/O: facts that servers state go in, findings come out, with what repairs them.
//!
//! - [`pass::Pass`] takes the facts of all servers, sorts them by inode in bounded memory ([`sort`]) and shows each inode, with all
//!   that is known of it ([`object::Object`]), to every class of findings ([`classes`], one per file).
//! - Directories that do not hang below the root are found by [`loops`].
//! - Clients work meanwhile, and servers were asked at different moments: what looks wrong is a suspicion, until a second pass over
//!   the same inodes finds the same ([`suspects::Suspects`]).
//! - What members of mirror groups hold that their primaries do not is told by whoever compared them ([`mirrors::Mirrors`]).
//!
//! `nyala fsck` asks the servers, keeps sorted facts in files, and sends the repairs.

pub mod classes;
pub mod compare;
pub mod finding;
pub mod locations;
pub mod looked;
pub mod loops;
pub mod mirrors;
pub mod object;
pub mod pass;
pub mod report;
pub mod servers;
pub mod sort;
mod sorting;
mod stated;
pub mod suspects;
