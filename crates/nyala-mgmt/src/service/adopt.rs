// SPDX-License-Identifier: Apache-2.0

//! `AdoptMgmt`: an operator wants this node, which waits for it, in a cluster. Repeating it names further addresses.

use super::MgmtService;
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::MgmtReply;
use std::net::SocketAddr;

/// Most addresses that are taken.
const MOST: usize = 64;

pub(super) fn handle(service: &MgmtService, mgmt: &[String]) -> Result<MgmtReply, WireError> {
    let waits = service.adopted.as_ref().filter(|_| service.core.get().is_none());
    let belongs =
        || ErrorCode::INVALID.with("this management node does not wait for a cluster (nyala mgmtd --standby)");
    let waits = waits.ok_or_else(belongs)?;
    let addresses: Vec<SocketAddr> = mgmt.iter().take(MOST).filter_map(|text| text.parse().ok()).collect();
    if addresses.is_empty() {
        return Err(ErrorCode::INVALID.with("no address of a management node is named; write ip:port"));
    }
    waits.send_replace(addresses);
    Ok(MgmtReply::Done)
}
