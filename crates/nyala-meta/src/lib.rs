// SPDX-License-Identifier: Apache-2.0

//! The metadata service: it receives requests, runs the name-space logic (`nyala_namespace`) on its [`tables`], writes the log
//! and talks to other servers ([`service`]).

mod numbers;
pub mod service;
mod store_error;
pub mod tables;

pub use service::config::MetaConfig;
pub use service::error::MetaError;
pub use service::{OpenStore, run, run_on};
