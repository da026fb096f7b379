// SPDX-License-Identifier: Apache-2.0

//! Says how the scrub of a target is. Failure model: see the parent module; it is answered also while management is away.

use super::scrubs::Scrubs;
use nyala_transport::{Frame, Reply};
use nyala_wire::scrub::ScrubRequest;
use nyala_wire::{ErrorCode, WireError, codec};

/// Answers one request.
pub fn answer(scrubs: &Scrubs, request: &Frame) -> Result<Reply, WireError> {
    let ScrubRequest { target } = codec::decode(&request.body)?;
    let elsewhere = || ErrorCode::WRONG_SERVER.with(format!("storage target {target} is not here"));
    Ok(Reply::ok(codec::encode(&scrubs.describe(target).ok_or_else(elsewhere)?)))
}
