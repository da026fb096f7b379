// SPDX-License-Identifier: Apache-2.0

//! What the tables say, page by page, for a check of the whole file system.
//!
//! Failure model: whoever asks may ask for anything. A page is bounded in rows and bytes, is read in one go, and nothing is held until
//! the next one; between pages all other requests go on. What is told may not be written yet: the transport sends it when it is.
//! Members of a mirror group are asked what they hold with the next records that they get ([`super::group`]).

use super::state::State;
use nyala_namespace::facts;
use nyala_namespace::slot_rows::slots_in_transit;
use nyala_wire::check::{MAX_SCAN_ROWS, ScanReply, ScanRequest};
use nyala_wire::{ErrorCode, WireError, codec};

/// Answers one request.
pub async fn answer(state: &State, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let request: ScanRequest = codec::decode(body)?;
    let reply = match request.compare {
        Some(true) => compare(state, &request).await,
        _ => scan(state, &request),
    };
    reply.map(|reply| codec::encode(&reply))
}

/// Compares a range with the members of the mirror group, if the server is one.
async fn compare(state: &State, request: &ScanRequest) -> Result<ScanReply, WireError> {
    if request.most == 0 || request.most > MAX_SCAN_ROWS {
        return Err(ErrorCode::BAD_MESSAGE.with("a page has 1 to 4096 rows"));
    }
    let group = state.group.borrow().clone();
    let (compared, next) = match group {
        Some(group) if group.serves() => group.compare(&request.from, request.most).await?,
        Some(_) => return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease")),
        None => (Vec::new(), None),
    };
    let (facts, next) = (Vec::new(), next.map(Into::into));
    Ok(ScanReply { facts, next, position: state.positions().1, compared: Some(compared) })
}

fn scan(state: &State, request: &ScanRequest) -> Result<ScanReply, WireError> {
    if !state.serves() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    let (facts, next) = match request.of.is_empty() {
        true => {
            let (map, me) = (state.map(), state.me);
            let transit = slots_in_transit(&state.tables)?;
            let served = |slot| map.slot_target(slot) == Some(me) || !transit.contains(&slot);
            facts::page(&state.tables, &served, request.inodes, &request.from, request.most)?
        }
        false => (facts::of_inodes(&state.tables, &request.of)?, None),
    };
    Ok(ScanReply { facts, next: next.map(Into::into), position: state.positions().1, compared: None })
}
