// SPDX-License-Identifier: Apache-2.0

//! Targets whose disks fail: what the leader's state wants of them goes into the log, and an operator's word that one is well again.
//!
//! **Failure model.** That of `nyala_cluster::leader`: a step that could not be recorded is due at the next look. An operator's word counts for all
//! errors that the target has reported to this leader; what it found since, and reports later, counts as new.

use crate::core::{Core, Refusal};
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::map::Consistency;

/// Calls targets failing whose disks do, and has mirror groups go on without them.
pub(crate) async fn evacuate(core: &Core) {
    let due = core.leader.lock().evacuate(&core.view.state());
    for command in due {
        if let Command::CallFailing { target, errors } = &command {
            tracing::warn!(%target, errors, "a storage target's disk fails: its data moves to others");
        }
        if let Err(error) = core.propose(command).await {
            tracing::warn!(%error, "a step away from a failing disk could not be recorded; trying again");
        }
    }
}

/// A target that an operator calls good is not failing any more, whatever its disk has done so far.
pub(crate) async fn forgive(core: &Core, target: TargetId, consistency: Consistency) -> Result<(), Refusal> {
    let failing = core.view.state().failing(target).copied().filter(|_| consistency == Consistency::Good);
    let Some(failing) = failing else { return Ok(()) };
    let errors = core.leader.lock().disk_errors(target).unwrap_or(failing.errors);
    core.propose(Command::Forgive { target, errors }).await.map(|_| ())
}
