// SPDX-License-Identifier: Apache-2.0

//! `AnnounceMount`, `Mounts`: where mounts serve their metrics.
//!
//! **Failure model.** Mounts vanish without a word: what is not said again is forgotten. Whoever has the secret may say anything:
//! names and numbers of mounts are bounded. Only the leader is told; a new one knows nothing until all have spoken again.

use crate::core::Core;
use nyala_transport::member::monotonic_ms;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{MgmtReply, MountAt};
use std::net::IpAddr;

pub(super) fn add(core: &Core, mount: MountAt, from: IpAddr) -> Result<MgmtReply, WireError> {
    core.mounts.lock().add(monotonic_ms(), mount, from)?;
    Ok(MgmtReply::Done)
}

pub(super) fn list(core: &Core) -> MgmtReply {
    MgmtReply::Mounts(core.mounts.lock().list(monotonic_ms()))
}
