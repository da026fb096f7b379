// SPDX-License-Identifier: Apache-2.0

//! `WatchMap`: a long poll for a newer cluster map.

use crate::core::Core;
use crate::counters::count;
use nyala_wire::MapVersion;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::MgmtReply;
use std::time::Duration;

const MAX_WAIT_MS: u32 = 60_000;

/// Waits until the map is newer than `have`. A watcher of a node that stops leading is sent elsewhere.
pub(super) async fn handle(core: &Core, have: MapVersion, wait_ms: u32) -> Result<MgmtReply, WireError> {
    count(&core.counters.map_watches);
    let mut maps = core.view.watch();
    let wait = Duration::from_millis(u64::from(wait_ms.min(MAX_WAIT_MS)));
    let newer = tokio::time::timeout(wait, maps.wait_for(|map| map.version > have)).await;
    core.check_leading()?;
    match newer {
        Ok(Ok(map)) => Ok(MgmtReply::Map(Box::new(map.as_ref().clone()))),
        // Time is up, or the service stops.
        _ => Ok(MgmtReply::Unchanged),
    }
}
