// SPDX-License-Identifier: Apache-2.0

//! A deterministic simulator of whole clusters: management's state and leases, storage servers with simulated disks, clients
//! that check what they read. Everything that decides is the code that ships (`nyala-cluster`, `nyala-replica`); all chance and
//! all time come from the seed.
//!
//! A seed runs in two phases. In the first one there are faults ([`faults`]) and nothing may go wrong; in the second there are
//! none and everything must come to rest ([`check`] has one file for each thing that must hold). A seed that fails is run
//! again and prints the last things that went on. Rules can be broken on purpose ([`mutation`]) to show that it notices.

pub mod check;
pub mod client;
pub mod disk;
pub mod event;
pub mod faults;
pub mod meta_group;
pub mod mgmt;
pub mod mutation;
pub mod net;
pub mod node;
pub mod plan;
pub mod rng;
pub mod run;
pub mod trace;
pub mod world;

mod ask;
mod copies;
mod decide;
mod effects;
mod serve;
mod setup;
mod work;

pub(crate) use decide::summary as mgmt_summary;
pub use mutation::Mutation;

pub use meta_group::run_group;
pub use run::{Failure, Report, run};
