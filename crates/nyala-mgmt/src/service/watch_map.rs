// SPDX-License-Identifier: Apache-2.0

//! `WatchMap`: a long poll for a newer cluster map.

use crate::core::Core;
use crate::counters::count;
use nyala_transport::trace::waits_on_purpose;
use nyala_wire::MapVersion;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::MgmtReply;
use std::time::Duration;

const MAX_WAIT_MS: u32 = 60_000;
/// While it waits, a poll looks so often whether this node still leads.
const LOOK: Duration = Duration::from_secs(1);

/// Waits until the map is newer than `have`. A watcher of a node that stops leading is sent elsewhere.
pub(super) async fn handle(core: &Core, have: MapVersion, wait_ms: u32) -> Result<MgmtReply, WireError> {
    waits_on_purpose();
    count(&core.counters.map_watches);
    let mut maps = core.view.watch();
    let mut left = Duration::from_millis(u64::from(wait_ms.min(MAX_WAIT_MS)));
    let newer = loop {
        let step = left.min(LOOK);
        let newer = tokio::time::timeout(step, maps.wait_for(|map| map.version > have))
            .await
            .map(|map| map.map(|map| map.clone()));
        // A node that was cut off gets no newer map: those who wait for one must not wait here.
        core.check_leading()?;
        left -= step;
        if newer.is_ok() || left.is_zero() {
            break newer;
        }
    };
    match newer {
        Ok(Ok(map)) => Ok(MgmtReply::Map(Box::new(map.as_ref().clone()))),
        // Time is up, or the service stops.
        _ => Ok(MgmtReply::Unchanged),
    }
}
