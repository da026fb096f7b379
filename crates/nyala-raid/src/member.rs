// SPDX-License-Identifier: Apache-2.0

//! A member of a set, and its state.

use crate::ids::StripeId;

/// A drive's identity, random, made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriveId(pub u128);

/// A set's identity, random, made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u128);

/// A member's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It has everything.
    Good,
    /// It is not there, or it failed; the others remember what it misses.
    Missing,
    /// It is there, and gets what it has missed.
    CatchingUp,
    /// It is new: stripes behind this one are not there yet; `None` is the beginning.
    Rebuilding {
        /// The last stripe that it has.
        behind: Option<StripeId>,
    },
}

impl MemberState {
    /// What a member is when it is back, of which this was the last state that it heard of. One that was new has no more than it had: what it
    /// missed of that is remembered by the others.
    pub fn on_return(self) -> MemberState {
        match self {
            MemberState::Rebuilding { .. } => self,
            MemberState::Good | MemberState::Missing | MemberState::CatchingUp => MemberState::CatchingUp,
        }
    }
}

/// What is known of one stripe of a member that does not have everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// It has missed nothing of it.
    Nothing,
    /// It has got it since, and takes part in its writes again; none of that needs to be durable yet.
    Given,
    /// It has missed writes of it.
    Writes,
}

/// One member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The drive.
    pub drive: DriveId,
    /// Its state.
    pub state: MemberState,
}
