// SPDX-License-Identifier: Apache-2.0

//! What cannot be done.

use crate::ids::StripeId;

/// Why an operation on a stripe did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// These members failed: they have to leave the set, durably, and then the operation is tried again.
    #[error("members {members:?} failed")]
    Failed {
        /// Numbers of members.
        members: Vec<usize>,
    },
    /// More was lost than parity can bring back.
    #[error("stripe {} of object {:x} cannot be read: more strips are lost or damaged than parity can bring back", .stripe.number, .stripe.object.0)]
    Lost {
        /// The stripe.
        stripe: StripeId,
    },
    /// Parity of these members is older than the data: the stripe has to be repaired before it is written.
    #[error("stripe {} of object {:x} has parity that is out of date at members {members:?}: repair it first", .stripe.number, .stripe.object.0)]
    OutOfDate {
        /// The stripe.
        stripe: StripeId,
        /// Numbers of members.
        members: Vec<usize>,
    },
    /// A record in the log of a member cannot be read.
    #[error("member {member} has an intent that is not one: check the drive, or start without it")]
    Intent {
        /// The member.
        member: usize,
    },
}
