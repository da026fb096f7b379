// SPDX-License-Identifier: Apache-2.0

//! A metadata server that was started again hears what it had acknowledged and may have lost, before anything else.
//!
//! **Failure model.** The server loses power with changes that it had acknowledged and not yet written to disk, and comes back without them.
//! The first reply of its next run tells; it is asked how much it has, and is sent the rest ([`ReplayLog`]), which
//! it does again together with what other clients send. It may be started once more meanwhile: then everything is said
//! to that run, as nothing is forgotten before a run has all of it on disk. What cannot be done again is lost: whoever syncs the inode is told so
//! (`rpc::confirm`). If the session has ended, nothing is sent, and all of it counts as lost.
//!
//! [`ReplayLog`]: super::logic::replay_log::ReplayLog

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::exchange::{SendOutcome, exchange, refused};
use crate::rpc::failure::{Again, unexpected_reply};
use crate::rpc::logic::replay_messages::{Message, ToSay, to_say, what_is_lost, with_open};
use crate::rpc::session::Session;
use nyala_wire::SessionId;
use nyala_wire::codec::decode;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest, Owner, Replay};
use std::sync::atomic::Ordering;

const WHAT: &str = "send again what was acknowledged";
/// Has a server's run hear what earlier ones acknowledged. `None` once it has done it all again; otherwise what to do next.
pub(super) async fn replay(cluster: &Cluster, session: &Session, run: u32) -> Result<Option<SendOutcome>> {
    let seen = session.replay_attempts.load(Ordering::Acquire);
    let _one = session.replaying.lock().await;
    let id = session.id();
    let (known, empty) = session.with_replay_log(|log| (log.run(), log.is_empty()));
    if known >= run || known == 0 {
        return Ok(None);
    }
    if session.replay_attempts.fetch_add(1, Ordering::AcqRel) != seen {
        // Others would each try for as long as the one that they have waited for.
        return Ok(Some(again("another call could not tell the metadata server what it had acknowledged")));
    }
    if !empty {
        match say(cluster, session, id, MetaOp::Survived { run: known }).await? {
            Ok((MetaReply::Position(position), _)) => session.with_replay_log(|log| log.survived(position)),
            Ok(_) => return Err(unexpected_reply(WHAT)),
            Err(outcome) => return Ok(Some(outcome)),
        }
    }
    let ToSay { messages, too_large } = session.with_replay_log(|log| {
        log.close();
        to_say(log.changes(|_| true))
    });
    let open = cluster.observer().map(|observer| observer.open_files(session)).unwrap_or_default();
    let messages = with_open(messages, &open);
    let count: usize = messages.iter().map(|message| message.numbers.len()).sum();
    let more = match say_all(cluster, session, id, run, messages).await? {
        Ok(said) => said,
        Err(outcome) => return Ok(Some(outcome)),
    };
    let lost = [too_large, more].concat();
    if count > 0 {
        tracing::info!(target = %session.target, count, lost = lost.len(), "a metadata server has done again what a power cut took back");
    }
    has_replayed(cluster, session, id, run, &lost);
    Ok(None)
}

/// Has a server that knew a session which is only being opened hear that its client was told nothing under it. What to do next if it does
/// not take that now.
pub(super) async fn was_told_nothing(cluster: &Cluster, session: &Session, run: u32) -> Result<Option<SendOutcome>> {
    let nothing = to_say(std::iter::empty()).messages;
    Ok(say_all(cluster, session, session.id(), run, nothing).await?.err())
}

/// A later run has on disk what was acknowledged, but for these.
fn has_replayed(cluster: &Cluster, session: &Session, id: SessionId, run: u32, lost: &[u64]) {
    session.with_replay_log(|log| {
        if session.id() != id {
            return;
        }
        let lost = what_is_lost(log.left_out(), log.changes(|sequence| lost.contains(&sequence)));
        cluster.acknowledged.lock().done_again(session.target, (log.run(), run), log.durable(), &lost);
        log.done_again(run);
    });
}

/// Sends all messages to one run; what is lost.
async fn say_all(
    cluster: &Cluster,
    session: &Session,
    id: SessionId,
    run: u32,
    messages: Vec<Message>,
) -> Result<std::result::Result<Vec<u64>, SendOutcome>> {
    let mut lost = Vec::new();
    for message in messages {
        let last = message.replay.last;
        let op = MetaOp::Replay(Replay { run: Some(run), ..message.replay });
        let (reply, by) = match say(cluster, session, id, op).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(outcome)) => return Ok(Err(outcome)),
            // It cannot take these, and would not later: nothing else waits for them.
            Err(Error::Server { error, .. }) if !last => {
                tracing::error!(target = %session.target, %error, "a metadata server does not take what it had acknowledged");
                lost.extend(message.numbers);
                continue;
            }
            Err(error) => return Err(error),
        };
        if by != run {
            return Ok(Err(again("the metadata server was started once more meanwhile")));
        }
        match reply {
            MetaReply::Done if !last => {}
            MetaReply::Replayed { lost: more } if last => lost.extend(more),
            _ => return Err(unexpected_reply(WHAT)),
        }
    }
    Ok(Ok(lost))
}

fn again(why: &str) -> SendOutcome {
    SendOutcome::Again(Again::Connection(why.into()))
}

/// Sends one message under a session; the reply, and the run that sent it.
async fn say(
    cluster: &Cluster,
    session: &Session,
    id: SessionId,
    op: MetaOp,
) -> Result<std::result::Result<(MetaReply, u32), SendOutcome>> {
    let mut request: MetaRequest = cluster.request(op, Owner::default());
    let (frame, _) = match exchange(cluster, session, id, WHAT, &mut request).await? {
        Ok(answered) => answered,
        Err(outcome) => return Ok(Err(outcome)),
    };
    if frame.is_error() {
        return refused(WHAT, &frame).map(Err);
    }
    let (_, rest) = nyala_wire::meta::Grants::split(&frame.body).map_err(Error::server(WHAT))?;
    Ok(Ok((decode(rest).map_err(Error::server(WHAT))?, frame.header.run)))
}
