// SPDX-License-Identifier: Apache-2.0

//! The client core: name space operations, striping, buffering, retry.
#![allow(unused)]

pub mod client;
pub mod config;
pub mod error;
pub mod handle;
pub mod types;

pub use client::Client;
pub use config::ClientConfig;
pub use error::{Error, Result};
pub use handle::FileHandle;
pub use types::{ClientStats, FsStats, OpenOptions, SeekTarget};
