// SPDX-License-Identifier: Apache-2.0

//! One request to a metadata server, sent once, and what its answer means for the next try.
//!
//! **Failure model.** A request or its reply may be lost; a server may stand still, or another one have taken its place: [`super::meta`]
//! says what is done then.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::cluster_map::View;
use crate::rpc::failure::{Again, sort_reply, sort_transport};
use crate::rpc::logic::acknowledged::LogMark;
use crate::rpc::session::Session;
use bytes::Bytes;
use nyala_transport::{Endpoint, Frame, Request};
use nyala_wire::codec::{decode, encode_large};
use nyala_wire::meta::{Grants, MetaReply, MetaRequest};
use nyala_wire::{Attr, ErrorCode, SessionId, TargetId, WireError, message_type};
use std::time::Duration;

/// A server that is alive and says nothing for so long is asked again.
const META_TIMEOUT: Duration = Duration::from_secs(15);

/// A successful reply, and what it grants.
pub(crate) struct MetaAnswer {
    pub(crate) reply: MetaReply,
    pub(crate) grants: Grants,
    /// Who granted, and in which of its runs, as known when the request was sent.
    pub(crate) target: TargetId,
    pub(crate) boot: u64,
    /// Sessions that had been lost when the request was sent, and under which one that was.
    pub(crate) sessions_lost: u64,
    pub(crate) session: SessionId,
    /// Where the server's log was.
    pub(crate) mark: LogMark,
    /// Directories that the client has delegations on, as they were when it was answered: those that it changed, or that a look-up was in.
    pub(crate) dirs: Vec<Attr>,
}

/// What came of sending once.
pub(crate) enum SendOutcome {
    Reply(MetaAnswer),
    /// The same request again, later.
    Again(Again),
    /// The session is not known there.
    Stale(Again),
    /// Another server, or a newer map. It may have been done.
    Elsewhere(Again),
    /// The server does not serve that slot. If it is a change, it was not done there, and is not done any more under its number.
    NotHere(Again),
}

/// Where the server's log was when it sent this.
pub(crate) fn log_mark(frame: &Frame) -> LogMark {
    let header = &frame.header;
    let applied = header.log_position.saturating_add(header.unsynced_records.into());
    LogMark { run: header.run, durable: header.log_position, applied }
}

/// Sends a request and waits for the frame that answers it; also returns the body that was sent.
pub(super) async fn exchange(
    cluster: &Cluster,
    session: &Session,
    id: SessionId,
    what: &'static str,
    request: &mut MetaRequest,
) -> Result<std::result::Result<(Frame, Bytes), SendOutcome>> {
    let view = cluster.maps.view();
    let target = session.target;
    let Some(endpoint) = view.endpoint(target) else {
        let why = Again::Connection("the metadata target is not in the map".into());
        return Ok(Err(SendOutcome::Elsewhere(why)));
    };
    request.acked_below = session.acked_below();
    request.session = id;
    cluster.ctx.stats.meta_requests.add(1);
    let body = Bytes::from(encode_large(request, request.op.content_bytes()));
    let sent = Request::new(message_type::META, body.clone()).at(view.map.version.0, 0);
    let sent = match cluster.proofs.shown(&request.op) {
        Some(proofs) => sent.with_payload(vec![proofs]),
        None => sent,
    };
    let answered = ask_server(cluster, what, &view, (target, endpoint), sent).await?;
    Ok(answered.map(|frame| {
        cluster.proofs.learn(&frame.payload);
        (frame, body)
    }))
}

/// What an error reply means.
pub(super) fn refused(what: &'static str, frame: &Frame) -> Result<SendOutcome> {
    let error: WireError = decode(&frame.body).map_err(Error::server(what))?;
    let code = error.code;
    let why = sort_reply(what, error)?;
    Ok(match code {
        ErrorCode::STALE_SESSION => SendOutcome::Stale(why),
        ErrorCode::WRONG_SERVER => SendOutcome::NotHere(why),
        ErrorCode::MAP_BEHIND | ErrorCode::WRONG_EPOCH => SendOutcome::Elsewhere(why),
        _ => SendOutcome::Again(why),
    })
}

/// Sends a request to a metadata server where the view says that it works, and waits for the answer as long as that holds: a primary
/// that stands still, or whose host is gone, does not answer.
async fn ask_server(
    cluster: &Cluster,
    what: &'static str,
    view: &View,
    (server, endpoint): (TargetId, &Endpoint),
    request: Request,
) -> Result<std::result::Result<Frame, SendOutcome>> {
    let called = tokio::select! {
        called = cluster.rpc.call(endpoint, request.with_timeout(META_TIMEOUT)) => called,
        () = cluster.maps.server_moved(view, server) => {
            let why = Again::Connection("another member of its mirror group is primary".into());
            return Ok(Err(SendOutcome::Elsewhere(why)));
        }
    };
    match called {
        Ok(frame) => Ok(Ok(frame)),
        Err(error) => Ok(Err(SendOutcome::Again(sort_transport(what, error)?))),
    }
}
