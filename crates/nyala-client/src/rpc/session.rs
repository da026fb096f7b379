// SPDX-License-Identifier: Apache-2.0

//! This client's session with one metadata target: its state. `rpc::sessions` opens and closes it.
//!
//! **Failure model.** Replies may be lost: a number stays outstanding until its reply came or its call was given up. The session may
//! end with delegations on their way back: those were lost with it, and a return of them is never sent under the next session.
//! The server's run may be another one by then, whose revocations are numbered anew: it would take the return for one of a
//! delegation that the next session was granted.

use crate::rpc::logic::replay_log::ReplayLog;
use crate::rpc::logic::sequence::Window;
use nyala_wire::meta::Returned;
use nyala_wire::{InodeId, SessionId, TargetId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;

/// What a restarted server is to hear of: delegations of its earlier run that could not be let go of, and moves of inline content
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
    /// Held while it is opened.
    pub(super) opening: tokio::sync::Mutex<()>,
    /// Under which the server knows this client; a new one after it was forgotten, as storage may refuse the old one.
    id: AtomicU64,
    /// The server's run whose delegations this client may hold.
    boot: AtomicU64,
    /// When the last request that was answered was sent; 0: none yet.
    answered_ms: AtomicU64,
    timeout_ms: AtomicU32,
    kept_alive_ms: AtomicU64,
    /// Somebody polls and tells what is returned.
    polled: AtomicBool,
    returns: Mutex<Vec<Returned>>,
    /// Named to the server until it has heard of it.
    carried: Mutex<CarriedOver>,
    returns_news: Notify,
    /// What the server acknowledged and may not have on disk.
    replay_log: Mutex<ReplayLog>,
    /// Held while a later run of the server hears of it.
    pub(super) replaying: tokio::sync::Mutex<()>,
    /// How often that was tried.
    pub(super) replay_attempts: AtomicU64,
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
            replay_log: Mutex::default(),
            replaying: tokio::sync::Mutex::new(()),
            replay_attempts: AtomicU64::new(0),
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        SessionId(self.id.load(Ordering::Acquire))
    }

    /// It goes on under another id. The lock of the delegations is held: one that is there is of the session as it is
    /// called then.
    pub(crate) fn go_on_as(&self, id: SessionId) {
        self.id.store(id.0, Ordering::Release);
        // Whoever adds to these looks at the id under their locks.
        self.returns.lock().clear();
        *self.carried.lock() = CarriedOver::default();
        self.replay_log.lock().forget();
    }

    /// Looks at, or changes, what is kept for a later run of the server.
    pub(super) fn with_replay_log<T>(&self, work: impl FnOnce(&mut ReplayLog) -> T) -> T {
        work(&mut self.replay_log.lock())
    }

    /// Whether the server has acknowledged something that it would lose with its power.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.with_replay_log(|log| !log.is_empty())
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

    /// A delegation held under the session called `id` is to be returned to the server; it is forgotten if that session has ended.
    pub(crate) fn give_back(&self, id: SessionId, returned: Returned) {
        let mut returns = self.returns.lock();
        if self.id() == id {
            returns.push(returned);
            self.returns_news.notify_one();
        }
    }

    /// What the server is to hear of.
    pub(crate) fn carried_over(&self) -> CarriedOver {
        self.carried.lock().clone()
    }

    /// From now on this is, if the session is still called `id`; nothing once the server has heard of it.
    pub(crate) fn carry_over(&self, id: SessionId, carried: CarriedOver) {
        let mut known = self.carried.lock();
        if self.id() == id {
            *known = carried;
        }
    }

    /// What is to be told next, and under which id; waits for something.
    pub(crate) async fn next_returns(&self, most: usize) -> (SessionId, Vec<Returned>) {
        loop {
            {
                let mut returns = self.returns.lock();
                if !returns.is_empty() {
                    let some = returns.len().min(most);
                    return (self.id(), returns.drain(..some).collect());
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

    /// Until when delegations are good.
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

    /// Is it time to say that we are still here?
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        let since = now_ms.saturating_sub(self.kept_alive_ms.load(Ordering::Relaxed));
        self.generation() > 0 && since >= u64::from(self.timeout_ms.load(Ordering::Relaxed) / 3)
    }

    /// It was opened, for this generation.
    pub(super) fn opened(&self, generation: u64) {
        self.generation.store(generation, Ordering::Release);
    }

    /// A sign of life is sent now.
    pub(super) fn sent_sign_of_life(&self, now_ms: u64) {
        self.kept_alive_ms.store(now_ms, Ordering::Relaxed);
    }

    pub(super) fn take_timeout(&self, timeout_ms: u32) {
        self.timeout_ms.store(timeout_ms.max(300), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::meta::DelegationMode;

    #[tokio::test]
    async fn what_was_held_under_a_session_is_not_returned_under_the_next() {
        let session = Session::new(TargetId(1), SessionId(5));
        let returned = |number| {
            let inode = InodeId::new(nyala_wire::Slot(1), number).unwrap();
            Returned { inode, keep: DelegationMode::None, seq: number, open: false }
        };
        let told = async |session: &Session| {
            tokio::time::timeout(std::time::Duration::from_millis(20), session.next_returns(9)).await.ok()
        };
        session.give_back(SessionId(5), returned(1));
        session.carry_over(SessionId(5), CarriedOver { kept: vec![returned(2)], moving: Vec::new() });
        session.go_on_as(SessionId(6));
        // What was decided before and comes after.
        session.give_back(SessionId(5), returned(3));
        session.carry_over(SessionId(5), CarriedOver { kept: vec![returned(4)], moving: Vec::new() });
        assert_eq!(told(&session).await, None);
        assert!(session.carried_over().kept.is_empty());
        session.give_back(SessionId(6), returned(5));
        assert_eq!(told(&session).await, Some((SessionId(6), vec![returned(5)])));
    }
}
