// SPDX-License-Identifier: Apache-2.0

//! The client core: name space operations, striping, buffering, retry. `docs/SEMANTICS.md` says what holds.
//!
//! [`Client`] does everything by inode; [`FileHandle`] reads and writes. Every face of the client (FUSE, libraries, benchmarks)
//! stands on this crate. Its rooms, of which each `logic` is pure and the rest the shell that drives it:
//!
//! - `rpc`: requests to management, metadata, storage and mirror groups, sessions, retry.
//! - `delegation`: what may be cached, and for how long.
//! - `file`: what is known of files, handles, reading, size, locks.
//! - `writeback`: written bytes on their way to the servers.
//! - `namespace`: lookup, listing, mutation of names.
//! - `listener`: the layer above, and how it is told to forget.
//! - `maintenance`: the client's own thread, shutdown, repair.

pub mod client;
pub mod config;
mod context;
mod core;
pub mod delegation;
pub mod error;
pub mod file;
#[doc(hidden)]
pub mod fuzzing;
pub mod listener;
mod maintenance;
mod namespace;
pub mod rpc;
pub mod types;
pub mod writeback;

pub use client::Client;
pub use config::ClientConfig;
pub use error::{Error, Result};
pub use file::encoding::{Encoded, Encoding};
pub use file::handle::FileHandle;
pub use listener::{CacheListener, FileEnd, Withdraw};
pub use nyala_transport::wall_clock;
pub use rpc::acting_user::ActingUser;
pub use rpc::transport::{ReachFuture, Rpc, RpcFuture};
pub use types::{ClientStats, Destination, FsStats, Lookup, Mode, OpenOptions, SeekTarget, SetXattr};
