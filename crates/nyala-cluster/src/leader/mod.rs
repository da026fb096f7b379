// SPDX-License-Identifier: Apache-2.0

//! What the leader of management decides beside what the log decides: who gets a lease, who is called offline, whom to
//! probe, which commands go into the log.
//!
//! [`LeaderState`] is memory of one leader and one term. The shell around it (`nyala-mgmt`; in the simulator, `nyala-sim`)
//! has the clock, Raft and the network: it passes on what it hears and carries out what is returned.
//!
//! **Failure model.** Heartbeats stop (the lease runs out), a process dies while its host lives, or this process itself
//! stands still (paused, starved): then the silence is its own and is held against nobody ([`LeaderState::woke`]). A verdict
//! names the run that it is about, so that it cannot hit a successor. A new leader has heard nobody, and its predecessor may
//! have renewed a lease an instant before: it begins with a new `LeaderState`, which waits a full lease.
//!
//! A process is taken for dead before its lease has run out if two things come together: its kernel has closed the
//! connection over which its last heartbeat came, in order, and its host refuses new ones. A packet filter can refuse new
//! connections, and break old ones by a reset, while the process lives and serves; it cannot close one in order. A living
//! process does not close that connection before it has ended its lease itself.

pub mod addresses;
pub mod membership;

mod evacuation;
mod pools;
mod probes;
mod rebalance;
mod state;
mod take_over;

#[cfg(test)]
mod tests;

pub use probes::Probe;
pub use state::{HeartbeatAnswer, LeaderState, NoLease, Proposal};
pub use take_over::{TakeOver, take_over};
