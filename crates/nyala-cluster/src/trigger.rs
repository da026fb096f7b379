// SPDX-License-Identifier: Apache-2.0

//! What happens to targets.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// What can happen to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Its node registered with it, or was heard again.
    #[n(0)]
    Heard,
    /// Half of its node's lease went by without a heartbeat.
    #[n(1)]
    Late,
    /// The lease ended, the host refused a connection, the service said goodbye, or came back without the target.
    #[n(2)]
    Lost,
    /// Another member acknowledged changes without it.
    #[n(3)]
    MissedChanges,
    /// A resync brought it up to date.
    #[n(4)]
    Resynced,
    /// An operator or a check says that the content is lost or wrong.
    #[n(5)]
    DeclaredBad,
    /// An operator wants it to be resynced.
    #[n(6)]
    DeclaredStale,
    /// An operator gives the explicit word that the content is right.
    #[n(7)]
    DeclaredGood,
}
