// SPDX-License-Identifier: Apache-2.0

//! Pure: the cluster state machine, target states, capacity pools and placement; and what the leader of management decides
//! beside it ([`leader`]): leases, the failure detector, probes.
//!
//! Nothing here does I/O, reads a clock or draws a random number. The management service feeds [`ClusterState::apply`]
//! through Raft, so every replica must come to the same state from the same commands: `apply` looks at nothing but the
//! state and the command.
//!
//! **Failure model.** Commands may be repeated (a client retries, a leader changes): every command is idempotent. They
//! may be late (a verdict about a run of a service that has since been replaced): verdicts name the incarnation that
//! they are about. They may be wrong: a refused command leaves the state untouched. A stored state may be damaged or
//! from a newer build: [`ClusterState::decode`] says which, and never guesses.

mod access_rules;
pub mod alias;
pub mod audit;
pub mod capacity;
pub mod change_log;
pub mod command;
mod disk_failure;
pub mod error;
pub mod event;
pub mod failure;
pub mod group;
pub mod health;
mod key_rules;
pub mod leader;
pub mod lease_ledger;
pub mod placement;
pub mod slots;
pub mod state;
pub mod states;
pub mod word;

mod apply;
mod format;
mod limits;
mod range;
mod recover;
mod register;
mod remove;
mod rng;
mod trigger;

pub use capacity::{CapacityLimits, Limits};
pub use change_log::{Change, ChangeLog, Mood};
pub use command::{Command, NewTarget, RegisterNode, Thing};
pub use error::ClusterError;
pub use event::Event;
pub use failure::FailureDetector;
pub use group::group_diagnosis;
pub use group::member_at::MemberAt;
pub use group::plan::{GroupRequest, plan_groups};
pub use leader::LeaderState;
pub use lease_ledger::LeaseLedger;
pub use limits::{DEFAULT_POOL, MAX_ADDRESSES, MAX_NODES, MAX_TARGETS_PER_NODE, SLOTS_PER_TARGET};
pub use placement::{PlacementTable, choose_targets, pick_slot};
pub use recover::recovered;
pub use state::{ClusterState, NodeRecord, TargetRecord};
pub use states::{TargetState, Trigger};
