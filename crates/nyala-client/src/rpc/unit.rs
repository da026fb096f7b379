// SPDX-License-Identifier: Apache-2.0

//! Reads of one target where what it has can be computed from what others have.
//!
//! **Failure model.** A target that is offline by the map, or that this client does not reach, is not asked; one that refuses connections, or does not
//! answer in time, is left alone until it does. What it answers counts only if every block matches its checksum, and if all that was asked
//! for is there: chunk files of encoded files have no missing end, so one that ends early has lost something, where it would be a hole in
//! another file. Nothing is written.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::logic::segments::Segments;
use crate::rpc::retry::Retry;
use crate::rpc::storage::{ChunkRange, MAX_DAMAGED, check_read};
use nyala_transport::{Frame, Request};
use nyala_wire::map::{Consistency, Reachability};
use nyala_wire::storage::{ReadReplyHeader, decode_bulk};
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::{ErrorCode, message_type};
use std::sync::Arc;
use std::time::Duration;

/// An answer that takes longer is not waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// A target that refuses connections, or is not ready, is tried for so long: it may only have been started again.
const RETRY_FOR: Duration = Duration::from_millis(300);

/// Why what a target has is not to be had from it.
#[derive(Debug)]
pub(crate) enum Erasure {
    /// It does not answer at the moment.
    Away(Error),
    /// The map says that it is bad: what it has is not used any more.
    Bad(Error),
    /// What it has is damaged, or gone.
    Lost(Error),
}

impl Erasure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Erasure::Away(error) | Erasure::Bad(error) | Erasure::Lost(error) => error,
        }
    }

    /// Whether waiting does not bring it back. Data that was moved (`STALE`) is elsewhere, and a right that is missing says nothing.
    pub(crate) fn is_for_good(&self) -> bool {
        match self {
            Erasure::Away(_) => false,
            Erasure::Bad(_) => true,
            Erasure::Lost(error) => error.is(ErrorCode::CHECKSUM) || error.is(ErrorCode::IO),
        }
    }
}

/// Exactly `len` bytes that are there, as segments that start at `at` in the file.
pub(crate) async fn read_unit(
    cluster: &Arc<Cluster>,
    chunk: ChunkRange,
    len: u64,
    at: u64,
) -> std::result::Result<Segments, Erasure> {
    let target = chunk.target();
    let away =
        |last: &str| Erasure::Away(Error::TimedOut { what: "read data", after: Duration::ZERO, last: last.to_owned() });
    let view = cluster.maps.view();
    let Some(known) = view.map.target(target) else {
        return Err(Erasure::Lost(crate::rpc::failure::removed("read data", &format!("storage target {target}"))));
    };
    if known.consistency == Consistency::Bad {
        return Err(Erasure::Bad(Error::refused(ErrorCode::IO, "the target is bad")));
    }
    if known.reachability == Reachability::Offline || cluster.unreached.has(target) {
        return Err(away("the target is away"));
    }
    let error = match tokio::time::timeout(ANSWER_TIMEOUT, read_whole(cluster, chunk, len, at)).await {
        Ok(Ok(segments)) => return Ok(segments),
        Ok(Err(error @ (Error::TimedOut { .. } | Error::Transport { .. }))) => Erasure::Away(error),
        Ok(Err(error)) => return Err(Erasure::Lost(error)),
        Err(_) => away("no answer"),
    };
    if let Some(endpoint) = view.endpoint(target) {
        cluster.unreached.report(&cluster.rpc, target, endpoint);
    }
    Err(error)
}

async fn read_whole(cluster: &Arc<Cluster>, chunk: ChunkRange, len: u64, at: u64) -> Result<Segments> {
    let mut retry = Retry::within("read data", RETRY_FOR);
    for damaged in 0..MAX_DAMAGED {
        let body = chunk.read_request(len, damaged > 0);
        let make = || {
            cluster.ctx.stats.storage_reads.add(1);
            Request::new(message_type::STORAGE_READ, body.clone())
        };
        let uses = &[(chunk.inode, StorageRights::Read)];
        let frame = cluster.storage_call("read data", (chunk.target(), uses), &mut retry, make).await?;
        if let Some(segments) = check_read(chunk, len, at, &frame)? {
            return if is_whole(chunk, len, &frame) { Ok(segments) } else { Err(cluster.bad_data(chunk)) };
        }
        cluster.ctx.stats.checksum_errors.add(1);
    }
    Err(cluster.bad_data(chunk))
}
/// Whether a reply, which is in order, has all `len` bytes from `chunk` on.
fn is_whole(chunk: ChunkRange, len: u64, frame: &Frame) -> bool {
    let end =
        decode_bulk::<ReadReplyHeader>(&frame.body).map(|(header, _)| header.start.get() + frame.payload.len() as u64);
    end.is_ok_and(|end| end >= chunk.offset + len)
}
