// SPDX-License-Identifier: Apache-2.0

//! `SlotStep` and `Slots`: slots that move between metadata servers. Both may be repeated; what came of a step is in the map.

use crate::core::Core;
use nyala_cluster::Command;
use nyala_wire::error::WireError;
use nyala_wire::map::Settings;
use nyala_wire::mgmt::{MgmtReply, SlotOrder, SlotStep};

/// What the server that gives a slot away has done.
pub(super) async fn step(core: &Core, step: SlotStep) -> Result<MgmtReply, WireError> {
    let command = match step {
        SlotStep::Begin { slot, after, run } => Command::BeginMove { slot, after, run },
        SlotStep::Complete { slot, attempt } => Command::CompleteMove { slot, attempt },
    };
    core.propose(command).await?;
    Ok(MgmtReply::Done)
}

/// What an operator wants.
pub(super) async fn order(core: &Core, order: SlotOrder) -> Result<MgmtReply, WireError> {
    let command = match order {
        SlotOrder::Move { slots, to } => Command::MoveSlots { slots, to },
        SlotOrder::Cancel { slots } => Command::CancelMoves { slots },
        SlotOrder::Automatic { rebalance } => {
            let settings = core.view.state().settings.clone();
            Command::SetSettings(Settings { rebalance, ..settings })
        }
    };
    core.propose(command).await?;
    Ok(MgmtReply::Done)
}
