// SPDX-License-Identifier: Apache-2.0

//! What the tables say, page by page, for a check of the whole file system.
//!
//! Failure model: whoever asks may ask for anything. A page is bounded in rows and bytes, is read in one go, and nothing is held until
//! the next one; between pages all other requests go on. What is told may not be written yet: the transport sends it when it is.

use super::state::State;
use nyala_namespace::facts;
use nyala_wire::check::{ScanReply, ScanRequest};
use nyala_wire::{ErrorCode, WireError, codec};

/// Answers one request.
pub fn answer(state: &State, body: &[u8]) -> Result<Vec<u8>, WireError> {
    scan(state, &codec::decode(body)?).map(|reply| codec::encode(&reply))
}

fn scan(state: &State, request: &ScanRequest) -> Result<ScanReply, WireError> {
    if !state.serves() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    let (facts, next) = match request.of.is_empty() {
        true => facts::page(&state.tables, request.inodes, &request.from, request.most)?,
        false => (facts::of_inodes(&state.tables, &request.of)?, None),
    };
    Ok(ScanReply { facts, next: next.map(Into::into), position: state.positions().1 })
}
