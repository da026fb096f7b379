// SPDX-License-Identifier: Apache-2.0

//! `Register`: a service starts. Repeating it gives the same ids.

use crate::core::Core;
use crate::counters::count;
use nyala_cluster::{Command, RegisterNode};
use nyala_transport::member::monotonic_ms;
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::map::Role;
use nyala_wire::mgmt::{MgmtReply, Register, Registered, TargetCapacity};

pub(super) async fn handle(core: &Core, request: &Register) -> Result<MgmtReply, WireError> {
    count(&core.counters.registrations);
    if request.role == Role::Mgmt {
        return Err(ErrorCode::INVALID.with("management nodes register themselves"));
    }
    let register = RegisterNode::try_from(request)?;
    core.propose(Command::RegisterNode(register.clone())).await?;
    let state = core.view.state();
    let gone = || ErrorCode::BUSY.with("the registration was undone by another change; try again");
    let (node, targets) = state.ids_of(&register).ok_or_else(gone)?;
    let capacities: Vec<_> = targets
        .iter()
        .zip(&request.targets)
        .filter(|(target, _)| target.0 != 0)
        .map(|(target, wanted)| TargetCapacity::new(*target, wanted.capacity))
        .collect();
    let unserved = register.targets.iter().zip(&targets).filter(|(_, id)| id.0 == 0).map(|(wanted, _)| wanted);
    let refused: Vec<String> = unserved
        .map(|wanted| state.refusal(node, wanted).ok_or_else(gone))
        .map(|refusal| refusal.map(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    for why in &refused {
        tracing::warn!(%node, why, "a target of a service that registered is refused");
    }
    core.leader.lock().registered(node, register.incarnation, &capacities, monotonic_ms());
    Ok(MgmtReply::Registered(Box::new(Registered { cluster: state.cluster, node, targets, map: state.map(), refused })))
}
