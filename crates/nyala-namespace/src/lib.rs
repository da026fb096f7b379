// SPDX-License-Identifier: Apache-2.0

//! The name space of a metadata server, without I/O, clock or randomness: time and entropy are arguments, the tables are
//! read through [`view::View`], and what is to be written is a batch.
//!
//! [`server`] is a whole metadata server as a state machine. Below it, [`ns`] has one operation per file, [`tx`] operations over
//! several servers, [`change`] the change of the tables that either of them makes; [`sessions`], [`delegations`], [`locks`] and
//! others each keep the books of one thing. `nyala-meta` carries the server's effects out.

pub mod access;
pub mod acl;
pub mod change;
pub mod damage;
pub mod deadlock;
mod delegated;
pub mod delegations;
pub mod doubts;
pub mod facts;
mod fault;
pub mod file_locks;
pub mod growth;
pub mod held_slots;
pub mod keys;
pub mod listings;
pub mod locate;
pub mod lock_checks;
pub mod locks;
pub mod names;
mod need;
pub mod ns;
pub mod recall_report;
mod recalls;
pub mod records;
mod records_codec;
pub mod replies;
pub mod runs;
pub mod sequences;
pub mod server;
pub mod sessions;
pub mod sharded_map;
pub mod slot_rows;
pub mod splitting;
pub mod tx;
pub mod view;
mod write_set;
