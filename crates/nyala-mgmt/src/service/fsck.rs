// SPDX-License-Identifier: Apache-2.0

//! `Fsck`: how far checks of the file system are.
//!
//! **Failure model.** A check may end without a word: it is taken to go on for a minute after it was last heard of. The leader alone is told how far one is; a
//! new one hears of it with its next news. That a run began and what came of it are written down with the orders of operators; news that come twice, or
//! to a new leader, are of the run that is written down already.

use crate::audit;
use crate::checks::called;
use crate::core::Core;
use nyala_transport::PeerInfo;
use nyala_transport::member::monotonic_ms;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{FsckNews, MgmtReply};

pub(super) async fn handle(core: &Core, peer: &PeerInfo, news: FsckNews) -> Result<MgmtReply, WireError> {
    core.checks.lock().hear(monotonic_ms(), &news)?;
    let what = called(&news);
    let known = core.view.state().orders.iter().rev().find(|order| order.what == what).map(|order| {
        // One that is over stays as it is.
        (order.number, order.outcome.is_some())
    });
    let (number, over) = match known {
        Some((number, over)) => (Some(number), over),
        None => {
            let said = (peer.grant.key.to_string(), peer.address.ip().to_string(), what);
            (audit::begin(core, said).await?, false)
        }
    };
    if let Some(outcome) = news.outcome.filter(|_| !over) {
        audit::end(core, number, outcome).await;
    }
    Ok(MgmtReply::Done)
}
