// SPDX-License-Identifier: Apache-2.0

//! What this process says of itself: STATS, and METRICS, the page of metrics as over HTTP. Failure model: see [`nyala_scrape::Pages`].

use crate::core::Core;
use nyala_scrape::Pages;
use nyala_store::Store;
use nyala_transport::trace::SlowOperations;
use nyala_transport::{Reply, process};
use nyala_wire::codec;
use std::sync::Arc;

pub(super) fn stats(core: Option<&Arc<Core>>, slow: &SlowOperations, store: Option<&Store>) -> Vec<u8> {
    let mut counters = core.map(|core| core.counters.list()).unwrap_or_default();
    counters.extend(slow.counters());
    // A management node has no target; this stands for its directory.
    counters.extend(store.into_iter().flat_map(|store| nyala_store::metrics::counters(&"own", store)));
    codec::encode(&process::stats(counters))
}

pub(super) async fn handle(pages: &Pages) -> Reply {
    match pages.payload().await {
        Ok(page) => Reply::ok(Vec::new()).with_payload(page),
        Err(error) => Reply::error(codec::encode(&error)),
    }
}
