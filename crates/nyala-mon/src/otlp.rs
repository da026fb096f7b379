// SPDX-License-Identifier: Apache-2.0

//! Gives spans to a collector of OpenTelemetry: OTLP over HTTP, as JSON.
//!
//! **Failure model.** The collector may be away, hang or refuse: that is said, and nothing is tried again.

use crate::http::{self, Ask};
use crate::url::Url;
use hyper::Method;
use std::time::Duration;

/// Longest wait for the collector.
const WITHIN: Duration = Duration::from_secs(10);
/// Longest reply, bytes: what is beyond says nothing that is needed.
const LONGEST_REPLY: usize = 64 << 10;

/// Sends a request to export traces.
pub async fn send(collector: &Url, request: &serde_json::Value) -> Result<(), String> {
    let ask = Ask {
        method: Method::POST,
        path: "/v1/traces",
        authorization: None,
        body: request.to_string(),
        content_type: "application/json",
        longest: LONGEST_REPLY,
        within: WITHIN,
    };
    let (status, said) = http::ask(collector, ask).await?;
    if status != 200 {
        return Err(format!("status {status}: {}", said.lines().next().unwrap_or_default()));
    }
    let reply: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
    let rejected = &reply["partialSuccess"]["rejectedSpans"];
    // A number in JSON, or as the mapping of protocol buffers writes one of 64 bits.
    let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
    match rejected {
        0 => Ok(()),
        rejected => Err(format!("it rejects {rejected} spans: {}", reply["partialSuccess"]["errorMessage"])),
    }
}
