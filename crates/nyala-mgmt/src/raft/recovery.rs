// SPDX-License-Identifier: Apache-2.0

//! Which management a node belongs to, if operators gave up majorities (`nyala mgmt recover`). Pure.
//!
//! **Failure model.** A node that was given up may come back with its directory, and two of them would be a majority of what they
//! remember. Messages say of which recovery their sender is; nobody takes one of another recovery, and the sender of an earlier
//! one is told, and ends.

use minicbor::{Decode, Encode};
use nyala_cluster::ClusterState;
use nyala_wire::error::WireError;
use nyala_wire::{ClusterId, ErrorCode};

/// Which management a node belongs to: how often an operator has given up a majority, and what was drawn when that happened last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Recovery {
    /// 0: never.
    #[n(0)]
    pub count: u64,
    #[n(1)]
    pub drawn: u64,
}

impl Recovery {
    /// Of a cluster state; `None` while a node has none.
    pub(crate) fn of(state: &ClusterState) -> Option<Recovery> {
        let known = state.cluster != ClusterId::UNKNOWN;
        known.then(|| Recovery { count: state.version.recoveries(), drawn: state.recovery })
    }
}

/// A node that has no state yet takes what comes, and has nothing to ask for; older builds than this do not say of which recovery they are.
pub(crate) fn check_recovery(theirs: Option<Recovery>, mine: Option<Recovery>) -> Result<(), WireError> {
    let Some(mine) = mine else { return Ok(()) };
    let theirs = theirs.unwrap_or(Recovery { count: 0, drawn: 0 });
    if theirs.count < mine.count {
        return Err(ErrorCode::REMOVED.with("management goes on without this node (nyala mgmt recover)"));
    }
    if theirs != mine {
        return Err(ErrorCode::INVALID.with("this management node and the sender went on apart (nyala mgmt recover)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_of_one_recovery_talk_to_each_other() {
        let of = |count, drawn| Some(Recovery { count, drawn });
        let code = |theirs, mine| check_recovery(theirs, mine).map_err(|error| error.code);
        for both in [of(0, 0), of(1, 5)] {
            assert_eq!(code(both, both), Ok(()));
        }
        assert_eq!((code(None, of(0, 0)), code(None, None), code(of(1, 5), None)), (Ok(()), Ok(()), Ok(())));
        // One that was given up; it ends.
        assert_eq!(code(of(0, 0), of(1, 5)), Err(ErrorCode::REMOVED));
        assert_eq!(code(None, of(2, 5)), Err(ErrorCode::REMOVED));
        // It refuses what comes to it from the one that goes on, and two that were both recovered refuse each other.
        assert_eq!(code(of(1, 5), of(0, 0)), Err(ErrorCode::INVALID));
        assert_eq!(code(of(1, 5), of(1, 6)), Err(ErrorCode::INVALID));
    }
}
