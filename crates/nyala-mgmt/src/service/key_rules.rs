// SPDX-License-Identifier: Apache-2.0

//! `SetKeyRule`: an operator says what the clients of a key are held to.

use crate::core::Core;
use nyala_cluster::Command;
use nyala_wire::WireError;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::mgmt::MgmtReply;

pub(super) async fn set(core: &Core, rule: KeyRule) -> Result<MgmtReply, WireError> {
    core.propose(Command::SetKeyRule(rule)).await?;
    Ok(MgmtReply::Done)
}
