// SPDX-License-Identifier: Apache-2.0

//! Requests to metadata: which server, under which sequence number, and again until it worked.
//!
//! **Failure model.** A request or its reply may be lost at any time: it is sent again under the same sequence number, to
//! the same target (wherever the map says that is by now), and the server does it once, also if its slot has left meanwhile. A server
//! that says that it does not serve the slot has not done it, and will not: the request goes to the right one under a number of that session. A server that lost
//! the session cannot tell; the session is opened again and the request sent under a new number, unless it carries what was
//! handed over under the session that has ended (`rpc::bound`): then it fails.

use crate::error::{Error, Result};
use crate::rpc::acting_user::{caller, user};
use crate::rpc::adopt::{adopt, note_slots};
use crate::rpc::bound::Bound;
use crate::rpc::cluster::Cluster;
pub(crate) use crate::rpc::exchange::{MetaAnswer, SendOutcome};
use crate::rpc::exchange::{exchange, log_mark, refused};
use crate::rpc::failure::Again;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::logic::acknowledged::LogMark;
use crate::rpc::logic::replay_log::{Heard, ReplayLog};
use crate::rpc::replay::replay;
use crate::rpc::retry::Retry;
use crate::rpc::session::Session;
use crate::types::Destination;
use bytes::Bytes;
use nyala_transport::wall_clock;
use nyala_wire::codec::decode;
use nyala_wire::meta::{FileReply, Grants, MetaOp, MetaReply, MetaRequest, Owner, Want};
use nyala_wire::{InodeId, Layout, SessionId, TargetId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether it says what was written, or that it is to be on disk: nothing is dropped for an answer that nobody vouches for.
fn is_of_content(op: &MetaOp) -> bool {
    matches!(op, MetaOp::Commit(_) | MetaOp::PutInline(_) | MetaOp::PutInlines { .. } | MetaOp::Sync)
}

/// Whether a later run of the server is to do it again if a power cut takes it back: a claim to move content is not in the log, and a
/// repair is an operator's to look at again.
fn is_done_again(op: &MetaOp) -> bool {
    op.is_change() && !matches!(op, MetaOp::Spill { .. } | MetaOp::Repair(_))
}

/// Whether it is about what the session has open or locked. Nothing that a session has to say before it can be opened again is.
fn rests_on_sessions(op: &MetaOp) -> bool {
    matches!(
        op,
        MetaOp::Close { .. }
            | MetaOp::GetLock { .. }
            | MetaOp::SetLock { .. }
            | MetaOp::LockWait { .. }
            | MetaOp::LockConfirm { .. }
    )
}

/// Whether a client says it for itself: it is no user's, also if a call of one waits for it.
fn is_own(op: &MetaOp) -> bool {
    matches!(
        op,
        MetaOp::SessionOpen { .. }
            | MetaOp::SessionClose
            | MetaOp::SessionAdopt(_)
            | MetaOp::DelegationPoll { .. }
            | MetaOp::DelegationReturn { .. }
            | MetaOp::Replay(_)
    )
}

impl Cluster {
    /// A request under no sequence number yet.
    pub(crate) fn request(&self, op: MetaOp, owner: Owner) -> MetaRequest {
        let want = Want::NOTHING;
        let (session, caller, user) = (SessionId(0), caller(self), user().filter(|_| !is_own(&op)));
        MetaRequest { session, sequence: 0, acked_below: 0, owner, now: wall_clock(), op, want, caller, user }
    }

    /// Sends once.
    pub(crate) async fn send_meta(
        &self,
        session: &Session,
        what: &'static str,
        request: &mut MetaRequest,
    ) -> Result<SendOutcome> {
        // Before its id is read: whoever takes the session's delegations away names it anew first.
        let sessions_lost = self.sessions_lost.load(Ordering::Acquire);
        self.send_meta_after(sessions_lost, session, session.id(), what, request).await
    }

    /// The same under this id, whatever the session is called by now.
    pub(crate) async fn send_meta_as(
        &self,
        session: &Session,
        id: SessionId,
        what: &'static str,
        request: &mut MetaRequest,
    ) -> Result<SendOutcome> {
        let sessions_lost = self.sessions_lost.load(Ordering::Acquire);
        self.send_meta_after(sessions_lost, session, id, what, request).await
    }

    async fn send_meta_after(
        &self,
        sessions_lost: u64,
        session: &Session,
        id: SessionId,
        what: &'static str,
        request: &mut MetaRequest,
    ) -> Result<SendOutcome> {
        let (boot, target, sent_ms) = (session.boot(), session.target, self.ctx.now_ms());
        let (frame, body) = match exchange(self, session, id, what, request).await? {
            Ok(answered) => answered,
            Err(outcome) => return Ok(outcome),
        };
        let mark = log_mark(&frame);
        if frame.is_error() {
            return match refused(what, &frame) {
                Ok(SendOutcome::Stale(why)) => Ok(SendOutcome::Stale(why)),
                refused => Ok(self.catch_up(session, id, mark, None).await?.map_or(refused, Ok)?),
            };
        }
        let (grants, rest, dirs) = Grants::split_all(&frame.body).map_err(Error::server(what))?;
        let done = is_done_again(&request.op).then_some((request.sequence, &body, rest));
        if let Some(outcome) = self.catch_up(session, id, mark, done).await? {
            return Ok(outcome);
        }
        let reply = decode(rest).map_err(Error::server(what))?;
        let dirs = if dirs.is_empty() { Vec::new() } else { decode(dirs).map_err(Error::server(what))? };
        session.answered(sent_ms);
        // A session that was greeted may be a new one, without any delegations.
        if !matches!(reply, MetaReply::Session(_))
            && let Some(observer) = self.observer()
        {
            observer.renewed(session);
        }
        self.note_acknowledged(target, mark, &request.op, &reply);
        Ok(SendOutcome::Reply(MetaAnswer { reply, grants, target, boot, sessions_lost, session: id, mark, dirs }))
    }

    /// Takes note of where the server's log was when it replied, of a change that it did (its number, the request, the reply), and of a
    /// new run. What to do instead of going on with the reply, if anything.
    async fn catch_up(
        &self,
        session: &Session,
        id: SessionId,
        mark: LogMark,
        done: Option<(u64, &Bytes, &[u8])>,
    ) -> Result<Option<SendOutcome>> {
        // What was done under a session that has ended is none of the next one's changes.
        let keep = |log: &mut ReplayLog| {
            let done = done.filter(|_| session.id() == id);
            done.into_iter().for_each(|(number, sent, reply)| log.keep(mark, number, sent, reply))
        };
        let heard = session.with_replay_log(|log| {
            let heard = if session.id() == id { log.heard(mark) } else { Heard::Same };
            keep(log);
            heard
        });
        match heard {
            // Nothing is done by a later run before it has heard what the earlier ones acknowledged.
            Heard::NewRun => {
                let outcome = replay(self, session, mark.run).await?;
                session.with_replay_log(keep);
                Ok(outcome)
            }
            Heard::Lost if done.is_some() => {
                let why = "a later run of the metadata server has lost what an earlier one did";
                Ok(Some(SendOutcome::Again(Again::Connection(why.into()))))
            }
            Heard::Same | Heard::Lost => Ok(None),
        }
    }

    /// Does an operation on the server of its routing inode.
    pub(crate) async fn meta(self: &Arc<Cluster>, what: &'static str, op: MetaOp, owner: Owner) -> Result<MetaReply> {
        Ok(self.meta_wanting(what, op, owner, Want::NOTHING).await?.reply)
    }

    /// The same, with delegations asked for if this client keeps any.
    pub(crate) async fn meta_wanting(
        self: &Arc<Cluster>,
        what: &'static str,
        op: MetaOp,
        owner: Owner,
        want: Want,
    ) -> Result<MetaAnswer> {
        let inode = op.routing_inode().unwrap_or(InodeId::ROOT);
        let mut request = self.request(op, owner);
        request.want = if self.ctx.config.delegations { want } else { Want::NOTHING };
        self.meta_routed(what, request, None, |cluster| cluster.maps.view().map.slot_target(inode.slot())).await
    }

    /// Says what a program did to a file's content: only under the session that it is bound to.
    pub(crate) async fn meta_bound(
        self: &Arc<Cluster>,
        what: &'static str,
        op: MetaOp,
        want: Want,
        bound: Bound,
    ) -> Result<MetaAnswer> {
        let mut request = self.request(op, Owner::default());
        request.want = if self.ctx.config.delegations { want } else { Want::NOTHING };
        let inode = bound.inode;
        let bound = Some(bound).filter(|bound| !bound.is_free());
        self.meta_routed(what, request, bound, |cluster| cluster.maps.view().map.slot_target(inode.slot())).await
    }

    /// Does an operation on a certain metadata target.
    pub(crate) async fn meta_at(
        self: &Arc<Cluster>,
        what: &'static str,
        op: MetaOp,
        target: TargetId,
    ) -> Result<MetaReply> {
        Ok(self.meta_routed(what, self.request(op, Owner::default()), None, |_| Some(target)).await?.reply)
    }

    /// Says something about a session, under its id: `false` if it has ended, as there is nothing to say then.
    pub(crate) async fn meta_under(
        self: &Arc<Cluster>,
        what: &'static str,
        op: MetaOp,
        session: &Arc<Session>,
        id: SessionId,
    ) -> Result<bool> {
        let mut request = self.request(op, Owner::default());
        let mut retry = Retry::new(what);
        loop {
            let generation = session.generation();
            if session.id() != id {
                return Ok(false);
            }
            match self.send_meta_as(session, id, what, &mut request).await? {
                SendOutcome::Reply(_) => return Ok(true),
                SendOutcome::Stale(_) => drop(self.open_session(session, generation).await?),
                SendOutcome::Again(why) => retry.pause(self, why).await?,
                SendOutcome::Elsewhere(why) | SendOutcome::NotHere(why) => {
                    self.refresh_and_pause(&mut retry, why).await?
                }
            }
        }
    }

    async fn meta_routed(
        self: &Arc<Cluster>,
        what: &'static str,
        mut request: MetaRequest,
        mut bound: Option<Bound>,
        route: impl Fn(&Cluster) -> Option<TargetId>,
    ) -> Result<MetaAnswer> {
        let keeps = bound.is_some() || is_of_content(&request.op);
        let mut retry = if keeps { Retry::keeping(what) } else { Retry::new(what) };
        let mut stale = (TargetId(0), 0);
        loop {
            let target = self.server_by(&route, &mut retry).await?;
            self.take_over_first(target, &request.op).await;
            let session = self.session(target);
            let seen = if stale.0 == target { stale.1 } else { 0 };
            let generation = self.open_session(&session, seen).await?;
            let ticket = if request.op.is_change() { Some(session.begin().await) } else { None };
            request.sequence = ticket.as_ref().map_or(0, |ticket| ticket.sequence);
            loop {
                let outcome = self.send_bound(&session, &mut bound, what, &mut request).await?;
                if let (SendOutcome::Stale(why), Some(ended)) = (&outcome, bound) {
                    bound = Some(self.bind_anew(&session, generation, ended).await?);
                    retry.pause(self, why.clone()).await?;
                    break;
                }
                bound = bound.map(|bound| Bound { fresh: false, ..bound });
                match outcome {
                    SendOutcome::Reply(answer) => return Ok(answer),
                    SendOutcome::Again(why) => retry.pause(self, why).await?,
                    SendOutcome::Stale(why) => {
                        stale = (target, generation);
                        retry.pause(self, why).await?;
                        break;
                    }
                    SendOutcome::Elsewhere(why) => {
                        self.refresh_and_pause(&mut retry, why).await?;
                        // A change may have been done, and its server, wherever it works by now, knows.
                        if !(ticket.is_some() && self.maps.has_server(target)) && route(self) != Some(target) {
                            break;
                        }
                    }
                    SendOutcome::NotHere(why) => {
                        self.refresh_and_pause(&mut retry, why).await?;
                        bound = bound.map(Bound::untaken);
                        break;
                    }
                }
            }
        }
    }

    /// The server to ask, as soon as the map names one.
    async fn server_by(&self, route: &impl Fn(&Cluster) -> Option<TargetId>, retry: &mut Retry) -> Result<TargetId> {
        loop {
            if let Some(target) = route(self) {
                return Ok(target);
            }
            let why = Again::Connection("no metadata server serves this part of the name space now".into());
            self.refresh_and_pause(retry, why).await?;
        }
    }

    /// What was open at another server in slots that have come to this one is taken over before something that rests on it.
    async fn take_over_first(self: &Arc<Cluster>, target: TargetId, op: &MetaOp) {
        note_slots(self);
        if rests_on_sessions(op) && self.slots_came.lock().any_for(target) {
            adopt(self, target).await;
        }
    }

    /// Sends once; what is bound to a session goes under that one or not at all.
    async fn send_bound(
        &self,
        session: &Session,
        bound: &mut Option<Bound>,
        what: &'static str,
        request: &mut MetaRequest,
    ) -> Result<SendOutcome> {
        // Nobody was asked yet: as if it came from the program now.
        *bound = bound.map(|bound| if bound.fresh { Bound { session: session.id(), ..bound } } else { bound });
        match *bound {
            Some(bound) if session.id() != bound.session => Err(bound.lost()),
            Some(bound) => self.send_meta_as(session, bound.session, what, request).await,
            None => self.send_meta(session, what, request).await,
        }
    }

    /// After its session has ended: only what no server took is bound to the next one. It may have been sent while that was
    /// being opened, so that the next one has ended, too: it is still what no server took.
    async fn bind_anew(self: &Arc<Cluster>, session: &Arc<Session>, generation: u64, ended: Bound) -> Result<Bound> {
        // What else was held under it is given up before anything new comes.
        self.open_session(session, generation).await?;
        if !ended.fresh {
            return Err(ended.lost());
        }
        Ok(Bound { session: session.id(), ..ended })
    }

    async fn refresh_and_pause(&self, retry: &mut Retry, why: Again) -> Result<()> {
        let have = self.maps.view().map.version;
        if let Err(why) = self.maps.refresh(have).await {
            tracing::debug!(?why, "cannot refresh the map now");
        }
        retry.pause(self, why).await
    }

    /// An operation whose reply is just success.
    pub(crate) async fn meta_done(self: &Arc<Cluster>, what: &'static str, op: MetaOp) -> Result<()> {
        self.meta_change(what, op).await.map(drop)
    }

    /// The same, with what the answer says of directories.
    pub(crate) async fn meta_change(self: &Arc<Cluster>, what: &'static str, op: MetaOp) -> Result<MetaAnswer> {
        let answer = self.meta_wanting(what, op, Owner::default(), Want::NOTHING).await?;
        if answer.reply == MetaReply::Done { Ok(answer) } else { Err(unexpected_reply(what)) }
    }

    /// What a file's metadata server knows of it now.
    pub(crate) async fn fetch_file_info(self: &Arc<Cluster>, inode: InodeId) -> Result<Box<FileReply>> {
        match self.meta("look at a file", MetaOp::FileInfo { inode }, Owner::default()).await? {
            MetaReply::Opened(reply) => Ok(reply),
            _ => Err(unexpected_reply("look at a file")),
        }
    }

    /// The same with a layout that is checked.
    pub(crate) async fn look(self: &Arc<Cluster>, inode: InodeId) -> Result<Box<FileReply>> {
        let reply = self.fetch_file_info(inode).await?;
        reply.layout.check().map_err(Error::server("look at a file"))?;
        Ok(reply)
    }

    /// Where a file's data could go.
    pub(crate) async fn move_targets(self: &Arc<Cluster>, inode: InodeId, to: &Destination) -> Result<Layout> {
        let op = MetaOp::MoveTargets { inode, pattern: to.pattern, avoid: to.avoid.clone() };
        match self.meta("choose targets", op, Owner::default()).await? {
            MetaReply::Layout(layout) => {
                layout.check().map_err(Error::server("choose targets"))?;
                Ok(layout)
            }
            _ => Err(unexpected_reply("choose targets")),
        }
    }
}
