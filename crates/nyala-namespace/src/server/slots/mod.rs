// SPDX-License-Identifier: Apache-2.0

//! Slots that move between servers while they are in use.
//!
//! The server that gives a slot away ([`give`]) sends its rows to the one that takes it ([`take`]), then those that have changed meanwhile,
//! again and again until few are left. It then closes the slot: clients return their delegations of what is in it, and begin nothing
//! new there. When nobody holds anything, it seals the slot, sends what is left, and tells management, which has the slot change hands in
//! one step. Clients find the other server by the map; they repeat there what this one has not done, and learn from this one what
//! it has done. [`purge`] removes what is left behind.
//!
//! **Failure model.** Either server may die at any moment, lose what it had not synced, or be replaced by another member of its group;
//! messages may be lost, late or repeated; management may be away for long; either server may act upon an old map.
//! - Each attempt has a number that management gives once. What came under another one is not used, and a late step of it is refused.
//! - Before management hears that a slot is complete, it is on the other server's disk; so is what this one did, in its own log, with
//!   the replies that clients may still ask for.
//! - Management may have the slot change hands from then on, at any time until another attempt begins. So nobody uses it here meanwhile;
//!   nor may a later run of this server before it has begun an attempt of its own ([`seal`]).
//! - The taking server serves the slot once the map says so: the rows were whole on its disk before the map could.
//! - Rows that have come are no work to be done here before that: a truncation among them may be over at the giving server, and a file
//!   written since; a removal among them may not be in its log for good.
//! - Who had files open or locked there is known by the sessions at the giving server. At the taking one these are guests, until their
//!   clients take over what they hold ([`crate::ns::adopt`]) or have not come for a session timeout.

mod clear;
pub mod gate;
mod give;
mod known;
mod leaving;
mod moves;
mod purge;
mod rows;
mod seal;
mod serve;
mod take;

pub use give::GiveSlots;
pub use leaving::Leaving;
pub use moves::is_sealed_by_another_run;
pub use purge::Purge;
pub use seal::{follow_map, take_map};
pub use take::arrive;
