// SPDX-License-Identifier: Apache-2.0

//! What operations need of delegations. Pure.

use nyala_wire::meta::DelegationMode;

/// What an operation needs others to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To see it as it is: nobody else may have changes that are not committed.
    Read,
    /// To change it: nobody else may keep what was before.
    Change,
    /// To remove it: whoever has it open under a delegation, of whatever mode, has to say so first.
    Remove,
    /// To be given this delegation.
    Grant(DelegationMode),
}

impl Need {
    /// What a holder of `mode` may keep; `None` if it is not in the way.
    pub fn leaves(self, mode: DelegationMode) -> Option<DelegationMode> {
        use DelegationMode::{Exclusive, None as Nothing, Shared, Uncached};
        match (self, mode) {
            (_, Nothing) | (Need::Read | Need::Change, Uncached) | (Need::Read, Shared) => None,
            (Need::Remove, _) => Some(Nothing),
            (Need::Grant(wanted), mode) if wanted.agrees(mode) => None,
            (Need::Read | Need::Grant(Shared), Exclusive) => Some(Shared),
            _ => Some(Nothing),
        }
    }

    /// The same for what the session itself has: between keeping things and working uncached it first lets go, as a
    /// client that misses one of several grants would otherwise keep what others no longer respect.
    pub fn leaves_own(self, mode: DelegationMode) -> Option<DelegationMode> {
        let Need::Grant(wanted) = self else { return None };
        let turns = (wanted == DelegationMode::Uncached) != (mode == DelegationMode::Uncached);
        (turns && mode != DelegationMode::None).then_some(DelegationMode::None)
    }

    /// Whether those who hold something for reading only are never in its way.
    pub fn only_reads(self) -> bool {
        matches!(self, Need::Read | Need::Grant(DelegationMode::Shared))
    }
}
