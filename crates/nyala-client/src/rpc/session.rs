// SPDX-License-Identifier: Apache-2.0

//! This client's session with one metadata target.
//!
//! **Failure model.** The server may forget the session (timeout, lost log): it says STALE_SESSION to whatever comes first, the
//! sign of life included. Then what was held under it is dropped before another one is opened, under a new id, and the files
//! that are open there as well. Replies may be lost: a number stays outstanding until its reply came or its call was given up.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::rpc::logic::sequence::Window;
use crate::rpc::meta::{MetaAnswer, SendOutcome};
use crate::rpc::retry::Retry;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest, Owner, Returned, SessionReply};
use nyala_wire::{InodeId, SessionId, TargetId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;

/// What a restarted server is to hear of: leases of its earlier run that could not be let go of, and moves of inline content
/// that are under way under claims of it.
#[derive(Clone, Default)]
pub(crate) struct CarriedOver {
    pub(crate) kept: Vec<Returned>,
    pub(crate) moving: Vec<InodeId>,
}

pub(crate) struct Session {
    pub(crate) target: TargetId,
    window: Mutex<Window>,
    room: Notify,
    /// 0 until opened; grows each time it is opened again.
    generation: AtomicU64,
    opening: tokio::sync::Mutex<()>,
    /// Under which the server knows this client; a new one after it was forgotten, as storage may refuse the old one.
    id: AtomicU64,
    /// The server's run whose leases this client may hold.
    boot: AtomicU64,
    /// When the last request that was answered was sent; 0: none yet.
    answered_ms: AtomicU64,
    timeout_ms: AtomicU32,
    pub(crate) kept_alive_ms: AtomicU64,
    /// Somebody polls and tells what is returned.
    polled: AtomicBool,
    returns: Mutex<Vec<Returned>>,
    /// Named to the server until it has heard of it.
    carried: Mutex<CarriedOver>,
    returns_news: Notify,
}

/// A sequence number under way; over when dropped.
pub(crate) struct Ticket {
    session: Arc<Session>,
    pub(crate) sequence: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.session.window.lock().done(self.sequence);
        self.session.room.notify_waiters();
    }
}

impl Session {
    pub(crate) fn new(target: TargetId, id: SessionId) -> Session {
        Session {
            target,
            window: Mutex::new(Window::new()),
            room: Notify::new(),
            generation: AtomicU64::new(0),
            opening: tokio::sync::Mutex::new(()),
            id: AtomicU64::new(id.0),
            boot: AtomicU64::new(0),
            answered_ms: AtomicU64::new(0),
            timeout_ms: AtomicU32::new(30_000),
            kept_alive_ms: AtomicU64::new(0),
            polled: AtomicBool::new(false),
            returns: Mutex::default(),
            carried: Mutex::default(),
            returns_news: Notify::new(),
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        SessionId(self.id.load(Ordering::Acquire))
    }

    /// It goes on under another id. The lock of the leases is held: one that is there is of the session as it is called then.
    pub(crate) fn go_on_as(&self, id: SessionId) {
        self.id.store(id.0, Ordering::Release);
    }

    pub(crate) fn boot(&self) -> u64 {
        self.boot.load(Ordering::Acquire)
    }

    pub(crate) fn set_boot(&self, boot: u64) {
        self.boot.store(boot, Ordering::Release);
    }

    pub(crate) fn timeout_ms(&self) -> u32 {
        self.timeout_ms.load(Ordering::Relaxed)
    }

    /// To be told to the server.
    pub(crate) fn give_back(&self, returned: Returned) {
        self.returns.lock().push(returned);
        self.returns_news.notify_one();
    }

    /// What the server is to hear of.
    pub(crate) fn carried_over(&self) -> CarriedOver {
        self.carried.lock().clone()
    }

    /// From now on this is; nothing once it has.
    pub(crate) fn carry_over(&self, carried: CarriedOver) {
        *self.carried.lock() = carried;
    }

    /// What is to be told next; waits for something.
    pub(crate) async fn next_returns(&self, most: usize) -> Vec<Returned> {
        loop {
            {
                let mut returns = self.returns.lock();
                if !returns.is_empty() {
                    let some = returns.len().min(most);
                    return returns.drain(..some).collect();
                }
            }
            self.returns_news.notified().await;
        }
    }

    /// Whether polling has to be begun.
    pub(crate) fn begin_polling(&self) -> bool {
        self.generation() > 0 && !self.polled.swap(true, Ordering::AcqRel)
    }

    /// A request that was sent then was answered.
    pub(crate) fn answered(&self, sent_ms: u64) {
        self.answered_ms.fetch_max(sent_ms, Ordering::AcqRel);
    }

    /// Until when leases are good.
    pub(crate) fn good_until_ms(&self) -> u64 {
        let timeout = u64::from(self.timeout_ms.load(Ordering::Relaxed));
        self.answered_ms.load(Ordering::Acquire) + timeout / 3 * 2
    }

    /// The next sequence number; waits while too many are under way.
    pub(crate) async fn begin(self: &Arc<Session>) -> Ticket {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if let Some(sequence) = self.window.lock().begin() {
                return Ticket { session: self.clone(), sequence };
            }
            room.await;
        }
    }

    pub(crate) fn acked_below(&self) -> u64 {
        self.window.lock().acked_below()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Opens the session unless somebody has done so since generation `seen`; returns the generation now.
    pub(crate) async fn ensure(self: &Arc<Session>, core: &Arc<Core>, seen: u64) -> Result<u64> {
        let now = self.generation();
        if now > seen {
            return Ok(now);
        }
        let _one = self.opening.lock().await;
        let now = self.generation();
        if now > seen {
            return Ok(now);
        }
        if now > 0 {
            // Storage may refuse what the old session writes.
            let random = getrandom::u64().map_err(|e| Error::System(format!("no random bytes: {e}")))?;
            core.lost(self, SessionId(random.max(1)));
        }
        // One that was there before has files that programs write to.
        let mut retry = if now > 0 { Retry::keeping("open a session") } else { Retry::new("open a session") };
        let boot = loop {
            match self.greet(core).await? {
                Ok(reply) => break reply.boot,
                Err(why) => retry.pause(core, why).await?,
            }
        };
        core.set_boot(self, boot);
        core.renew_leases(self);
        if now > 0 {
            core.reopen_files(self).await;
        }
        self.generation.store(now + 1, Ordering::Release);
        core.poke();
        Ok(now + 1)
    }

    /// Sends SessionOpen once.
    async fn greet(self: &Arc<Session>, core: &Arc<Core>) -> Result<Result<SessionReply, crate::rpc::retry::Again>> {
        let op = MetaOp::SessionOpen { client: core.config.name.clone() };
        // So that a server that restarts waits for what this client keeps.
        let mut request = MetaRequest { want: core.want(), ..core.request(op, Owner::default()) };
        Ok(match core.send_meta(self, "open a session", &mut request).await? {
            SendOutcome::Reply(MetaAnswer { reply: MetaReply::Session(reply), .. }) => {
                self.take_timeout(reply.timeout_ms);
                self.kept_alive_ms.store(core.now_ms(), Ordering::Relaxed);
                if reply.known {
                    core.renew_leases(self);
                }
                Ok(reply)
            }
            SendOutcome::Reply(_) => return Err(crate::rpc::cluster_map::unexpected_reply("open a session")),
            SendOutcome::Again(why) | SendOutcome::Stale(why) | SendOutcome::Elsewhere(why) => Err(why),
        })
    }

    /// Is it time to say that we are still here?
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        let since = now_ms.saturating_sub(self.kept_alive_ms.load(Ordering::Relaxed));
        self.generation() > 0 && since >= u64::from(self.timeout_ms.load(Ordering::Relaxed) / 3)
    }

    /// Says that we are still here; opens the session and files again if the server does not know us any more. What is said is
    /// that nothing is returned: to open a session that is gone would make it anew under the id whose leases are others'
    /// by now, and what other threads of this client send before they know would be taken for good.
    pub(crate) async fn keep_alive(self: Arc<Session>, core: Arc<Core>) {
        self.kept_alive_ms.store(core.now_ms(), Ordering::Relaxed);
        let seen = self.generation();
        let mut request = core.request(MetaOp::LeaseReturn { leases: Vec::new() }, Owner::default());
        match core.send_meta(&self, "keep the session alive", &mut request).await {
            Ok(SendOutcome::Reply(_)) => self.take_timeout(core.maps.view().map.settings.session_timeout_ms),
            Ok(SendOutcome::Stale(_)) => {
                if let Err(error) = self.ensure(&core, seen).await {
                    tracing::warn!(target = %self.target, %error, "cannot open the session again");
                }
            }
            Ok(SendOutcome::Again(why) | SendOutcome::Elsewhere(why)) => {
                tracing::debug!(target = %self.target, ?why, "session not kept alive yet");
            }
            Err(error) => tracing::warn!(target = %self.target, %error, "session not kept alive"),
        }
    }

    fn take_timeout(&self, timeout_ms: u32) {
        self.timeout_ms.store(timeout_ms.max(300), Ordering::Relaxed);
    }

    /// Storage refuses what was written under `refused`: if that is what this session is called now, it goes on as another.
    pub(crate) async fn renew(self: Arc<Session>, core: Arc<Core>, refused: SessionId) {
        let seen = self.generation();
        if self.id() != refused {
            return;
        }
        // why ignored: a server that did not end the session will, when its timeout is over.
        let _ = self.close_as(&core, refused).await;
        if let Err(error) = self.ensure(&core, seen).await {
            tracing::warn!(target = %self.target, %error, "cannot open the session again");
        }
    }

    /// Ends it; one try.
    pub(crate) async fn close(self: &Arc<Session>, core: &Arc<Core>) -> Result<()> {
        self.close_as(core, self.id()).await
    }

    async fn close_as(self: &Arc<Session>, core: &Arc<Core>, id: SessionId) -> Result<()> {
        if self.generation() == 0 {
            return Ok(());
        }
        let mut request = core.request(MetaOp::SessionClose, Owner::default());
        match core.send_meta_as(self, id, "close the session", &mut request).await? {
            SendOutcome::Reply(_) => Ok(()),
            _ => {
                Err(Error::Protocol { what: "close the session", detail: "the server is not there; it will time out" })
            }
        }
    }
}
