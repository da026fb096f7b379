// SPDX-License-Identifier: Apache-2.0

//! The monitoring service: asks all services and mounts of a cluster for their figures at a rate, keeps the last day, writes it to
//! InfluxDB, and answers questions about it.
//!
//! - [`Sampler`] finds and asks (`nyala top` does so too); [`logic`] decides what becomes of the answers; [`Mon`] runs it.
//! - [`BusyAsker`] asks which files and directories are the busiest, for commands and the web page.
//! - It may run anywhere, several times, and end at any time: nothing depends on it.
//!
//! **Failure model.** Everything that it asks, writes to and is asked by may be away, slow, or lie; the modules say what then. What it
//! holds is bounded: memory and disk of the history by settings, pages, replies and questions by constants.

mod answer;
mod api;
mod ask;
mod busiest;
mod config;
mod counters;
mod disk;
mod files;
mod http;
mod influx;
pub mod logic;
mod names;
pub mod otlp;
mod paths;
mod round;
mod rounds;
mod run;
mod sampler;
mod secrets;
mod state;
mod url;
mod writer;

pub use ask::Instance;
pub use busiest::{Busy, BusyAsker};
pub use config::{InfluxConfig, InfluxDestination, MonConfig, MonError};
pub use round::{Answered, Round};
pub use run::Mon;
pub use sampler::Sampler;
pub use url::{Url, UrlError};
