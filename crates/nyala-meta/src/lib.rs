// SPDX-License-Identifier: Apache-2.0

//! The metadata service: name space, attributes, sessions, inline small files.
//!
//! The logic is pure: [`ns`] (one operation per file), [`tx`] (operations over several servers), [`locks`] and
//! [`change`] take the tables, the time and entropy as arguments and return a batch. [`service`] is the shell: it
//! receives requests, runs the logic, writes the log, talks to other servers.

pub mod acl;
pub mod change;
pub mod damage;
pub mod deadlock;
pub mod doubts;
pub mod file_locks;
pub mod growth;
pub mod keys;
pub mod leases;
pub mod listings;
pub mod lock_checks;
pub mod locks;
pub mod ns;
pub mod records;
pub mod replies;
pub mod service;
pub mod sessions;
pub mod spread;
pub mod tx;
pub mod view;

pub use service::config::MetaConfig;
pub use service::{MetaError, OpenStore, run, run_on};
