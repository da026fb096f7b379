// SPDX-License-Identifier: Apache-2.0

//! The client core: name space operations, striping, buffering, retry. `docs/SEMANTICS.md` says what holds.
//!
//! [`Client`] does everything by inode; [`FileHandle`] reads and writes. `logic` is pure; the other modules are the shell
//! that drives it. Every face of the client (FUSE, libraries, benchmarks) stands on this crate.

pub mod client;
pub mod config;
mod confirming;
pub mod error;
pub mod handle;
pub mod logic;
pub mod rpc;
pub mod types;

mod append;
mod behind;
mod bound;
mod budget;
mod buffering;
mod cache;
mod changing;
mod checksum;
mod closing;
mod copying;
mod core;
mod deadline;
mod direct;
mod ending;
mod file;
mod group_io;
mod guard;
mod hub;
mod keeper;
mod leasing;
mod leftover;
mod locks;
mod looking;
mod maps;
mod mending;
mod names;
mod naming;
mod opening;
mod polling;
mod pressure;
mod push;
mod push_inline;
mod reach;
mod read;
mod retry;
mod router;
mod sender;
mod session;
mod space;
mod spilling;
mod storage_io;
mod stored;
mod syncing;
mod table;
mod together;
mod write;
mod write_back;

pub use client::Client;
pub use config::ClientConfig;
pub use error::{Error, Result};
pub use handle::FileHandle;
pub use rpc::{ReachFuture, Rpc, RpcFuture};
pub use types::{CacheListener, ClientStats, FsStats, LookedUp, Mode, OpenOptions, SeekTarget, SetXattr, Withdraw};
