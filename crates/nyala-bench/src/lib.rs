// SPDX-License-Identifier: Apache-2.0

//! Benchmarks of a cluster: the same workloads through the native client, a mount and a local file system, with the CPU
//! time that each service spent, next to what loopback TCP gives.
//!
//! - [`session`]: one benchmark of workloads. [`plan`] says what is done (pure), `driver` does it, `engine` runs it on
//!   threads, [`measure`] takes time, [`report`] shows.
//! - [`floors`]: what minimal programs pay for the same transfers.
//! - [`sessions`]: what many clients cost. [`failure`]: what applications see when a server goes away. [`mirrored`]: what mirrored
//!   metadata costs. [`split`]: what a directory of several servers costs. [`many`]: what very many names cost. [`parity`]: what parity costs. [`peers`]: other file systems
//!   beside this one. [`programs`]: the field's own programs. [`all`]: every aim of the design in one run. [`page`]: stored runs as one HTML page.
//!
//! The command line is the binary's: it finds the cluster and its mount, hears signals ([`Stop`]), prints what comes out
//! ([`Document`]), and is started again for clusters and for processes of a load ([`Host`]).

pub mod all;
mod caches;
pub mod document;
mod driver;
mod ended;
mod engine;
mod error;
pub mod failure;
pub mod floors;
mod host;
pub mod many;
pub mod measure;
pub mod mirrored;
pub mod page;
pub mod parity;
pub mod peers;
pub mod plan;
pub mod programs;
mod ratio;
pub mod report;
pub mod session;
pub mod sessions;
pub mod split;
mod stop;
#[cfg(test)]
mod tests;

pub use document::Document;
pub use ended::Ended;
pub use error::BenchError;
pub use host::Host;
pub use report::Backend;
pub use stop::Stop;
