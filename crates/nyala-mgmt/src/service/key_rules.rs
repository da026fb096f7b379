// SPDX-License-Identifier: Apache-2.0

//! `SetKeyRule`, `SetAccessRule`, `RemoveAccessRule`: an operator says which clients are let in, and what they are held to.

use crate::core::Core;
use nyala_cluster::Command;
use nyala_wire::WireError;
use nyala_wire::access_rules::Network;
use nyala_wire::mgmt::MgmtReply;

pub(super) async fn set(core: &Core, command: Command) -> Result<MgmtReply, WireError> {
    core.propose(command).await?;
    Ok(MgmtReply::Done)
}

pub(super) async fn remove(core: &Core, key: String, network: Option<Network>) -> Result<MgmtReply, WireError> {
    set(core, Command::RemoveAccessRule { key, network }).await
}
