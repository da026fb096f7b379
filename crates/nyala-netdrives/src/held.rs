// SPDX-License-Identifier: Apache-2.0

//! A drive that is held over a connection, which may have to be made again.
//!
//! **Failure model.** See the crate. What is lost is sent again, in order, until it is done, refused, or the drive is given up: after [`GIVE_UP`], or after [`GIVE_UP_DEAD`] where the
//! host says that nobody listens. A drive that was given up stays so: it may have missed something, and is attached anew.

use crate::attachment::{Address, AskError, Attachment};
use crate::effects;
use bytes::Bytes;
use nyala_raid::{Effect, Reply};
use nyala_transport::HandshakeConfig;
use nyala_wire::drive::{DriveEffect, DriveHold, DriveOrder, DriveReply};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A drive that cannot be reached for so long has failed.
pub const GIVE_UP: Duration = Duration::from_secs(3);
/// A drive whose service does not run has failed after this time, which lets one that is started again at once go on.
pub const GIVE_UP_DEAD: Duration = Duration::from_millis(500);
/// Between two tries.
const AGAIN: Duration = Duration::from_millis(50);

/// What requests share.
pub(crate) struct Shared {
    pub address: Address,
    pub handshake: HandshakeConfig,
    pub hold: DriveHold,
    pub attachment: Mutex<Option<Attachment>>,
    /// That of the first attachment.
    pub instance: String,
    pub taken: AtomicBool,
    /// It was given up.
    pub lost: AtomicBool,
    pub space: (AtomicU64, AtomicU64),
}

impl Shared {
    /// The attachment, made again if its connection is gone.
    async fn attached(&self) -> Result<Attachment, AskError> {
        if let Some(there) = self.attachment.lock().clone().filter(|there| there.connection.dead().is_none()) {
            return Ok(there);
        }
        let connection = self.address.connect(&self.handshake).await?;
        let again = self.address.attach(connection, self.hold, Some(self.instance.clone())).await?;
        *self.attachment.lock() = Some(again.clone());
        Ok(again)
    }

    /// Tries until it is done, refused, or too late.
    async fn persist(
        &self,
        order: impl Fn(u64) -> DriveOrder,
        payload: Bytes,
    ) -> Result<(DriveReply, Bytes), AskError> {
        let began = Instant::now();
        while !self.lost.load(Ordering::Relaxed) {
            let error = match self.attached().await {
                Ok(there) => match self.address.ask(&there.connection, order(there.number), payload.clone()).await {
                    Ok(done) => return Ok(done),
                    Err(error) => {
                        self.detach(&there, &error);
                        error
                    }
                },
                Err(error) => error,
            };
            let again = matches!(error, AskError::Transport(_) | AskError::Host { .. }) || error.is_detached();
            let timeout = if error.is_dead() { GIVE_UP_DEAD } else { GIVE_UP };
            if !again || began.elapsed() >= timeout {
                self.taken.fetch_or(error.is_taken(), Ordering::Relaxed);
                self.lost.fetch_or(again, Ordering::Relaxed);
                return Err(error);
            }
            tokio::time::sleep(AGAIN).await;
        }
        Err(AskError::GivenUp)
    }

    /// Whether it was done is not known after some errors: the next attachment ends it.
    fn detach(&self, there: &Attachment, error: &AskError) {
        let mut attachment = self.attachment.lock();
        let same = attachment.as_ref().is_some_and(|other| other.number == there.number);
        if same && (matches!(error, AskError::Transport(_)) || error.is_detached()) {
            *attachment = None;
        }
    }

    pub async fn is_there(&self) -> bool {
        match self.persist(|_| DriveOrder::Look, Bytes::new()).await {
            Ok((DriveReply::Looked(look), _)) => {
                self.taken.fetch_or(look.epoch > self.hold.epoch, Ordering::Relaxed);
                self.space.0.store(look.total_bytes, Ordering::Relaxed);
                self.space.1.store(look.free_bytes, Ordering::Relaxed);
                look.missing.is_none() && look.instance == self.instance
            }
            Ok(_) | Err(_) => false,
        }
    }

    pub async fn run(&self, effect: Effect) -> Result<Reply, AskError> {
        let (effect, payload) = effects::send(effect);
        let DriveEffect::Scan { from, to, most } = effect else {
            return Ok(self.one(effect, payload).await?.0);
        };
        let (mut from, mut all) = (from, Vec::new());
        loop {
            let left = (most as usize - all.len()) as u32;
            let scan = DriveEffect::Scan { from, to: to.clone(), most: left };
            let (Reply::Pairs(pairs), more) = self.one(scan, Bytes::new()).await? else {
                return Err(AskError::Nonsense);
            };
            let last = pairs.last().map(|(key, _)| nyala_raid::key::next(key));
            all.extend(pairs);
            match last.filter(|_| more && all.len() < most as usize) {
                Some(next) => from = next,
                None => return Ok(Reply::Pairs(all)),
            }
        }
    }

    async fn one(&self, effect: DriveEffect, payload: Bytes) -> Result<(Reply, bool), AskError> {
        let order = |attachment| DriveOrder::Run { attachment, effect: effect.clone() };
        let (reply, bytes) = self.persist(order, payload).await?;
        effects::understand(&effect, reply, bytes).ok_or(AskError::Nonsense)
    }
}
