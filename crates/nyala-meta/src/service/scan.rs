// SPDX-License-Identifier: Apache-2.0

//! What the tables say, page by page, for a check of the whole file system; and of single inodes, for storage services that found
//! damage and want to know whose it is, and for management, which shows where a file lies.
//!
//! Failure model: whoever asks may ask for anything. A page is bounded in rows and bytes, is read in one go, and nothing is held until
//! the next one; between pages all other requests go on. What is told may not be written yet: the transport sends it when it is.
//! Members of a mirror group are asked what they hold with the next records that they get ([`super::group`]).

use super::state::State;
use nyala_namespace::slot_rows::slots_in_transit;
use nyala_namespace::{facts, locate, names};
use nyala_transport::Role;
use nyala_wire::busiest::NamesRequest;
use nyala_wire::check::{MAX_SCAN_ROWS, ScanReply, ScanRequest};
use nyala_wire::locate::LocateRequest;
use nyala_wire::{ErrorCode, WireError, codec};

/// Answers one request of a peer of this role.
pub async fn answer(state: &State, role: Role, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let request: ScanRequest = codec::decode(body)?;
    let reply = match request.compare {
        _ if role == Role::Storage => of_one(state, &request),
        Some(true) => compare(state, &request).await,
        _ => scan(state, &request),
    };
    reply.map(|reply| codec::encode(&reply))
}

/// Tells management where an entry is.
pub fn locate(state: &State, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let request: LocateRequest = codec::decode(body)?;
    if !state.serves() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    locate::locate(&state.tables, state.me, &state.map(), &request).map(|reply| codec::encode(&reply))
}

/// Tells which names stand for inodes.
pub fn names(state: &State, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let request: NamesRequest = codec::decode(body)?;
    if !state.serves() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    names::names(&state.tables, state.me, &state.map(), &request).map(|reply| codec::encode(&reply))
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

/// What the tables say of an inode whose slot is served here: what is not mentioned does not exist.
fn of_one(state: &State, request: &ScanRequest) -> Result<ScanReply, WireError> {
    let [inode] = request.of[..] else {
        return Err(ErrorCode::UNAUTHORIZED.with("a storage service asks about one inode at a time"));
    };
    let slot = inode.slot();
    if state.map().slot_target(slot) != Some(state.me) {
        return Err(ErrorCode::WRONG_SERVER.with(format!("slot {slot} is not served by target {}", state.me)));
    }
    if slots_in_transit(&state.tables)?.contains(&slot) {
        return Err(ErrorCode::NOT_READY.with(format!("slot {slot} moves between servers")));
    }
    scan(state, request)
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
