// SPDX-License-Identifier: Apache-2.0

//! The scrub of one target: reads step by step, has damage repaired, and remembers. Failure model: see the parent module.

use super::asks::Asks;
use super::describe;
use super::figures::{Now, ScrubFigures};
use super::repairs::Repairs;
use super::rows;
use super::state::{Next, TargetState};
use crate::config::ScrubConfig;
use crate::scrub::logic::pace::cost;
use crate::service::queue::mistake;
use crate::service::target::Target;
use crate::service::walk::walk;
use nyala_wire::checksum::crc32c;
use nyala_wire::scrub::ScrubState;
use nyala_wire::storage::StorageReply;
use nyala_wire::walk::{WalkAt, WalkPiece};
use nyala_wire::{TargetId, WireError};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After something failed.
const AGAIN: Duration = Duration::from_secs(5);

/// The scrub of one target.
pub(super) struct TargetScrub {
    id: TargetId,
    target: Arc<Target>,
    pub config: ScrubConfig,
    asks: Arc<Asks>,
    began: Instant,
    state: Mutex<TargetState>,
}

impl TargetScrub {
    /// With what the target remembers.
    pub fn open(id: TargetId, target: Arc<Target>, config: ScrubConfig, asks: Arc<Asks>) -> TargetScrub {
        let began = Instant::now();
        let phase = crc32c(&target.dir.lock().identity.uuid.0);
        let found = rows::load(target.kv(), &id, Now::since(began).ms);
        TargetScrub { id, target, config, asks, began, state: Mutex::new(TargetState::new(config, phase, found)) }
    }

    fn now(&self) -> Now {
        Now::since(self.began)
    }

    /// Scrubs, whenever it is due, until it is dropped.
    pub async fn run(self: Arc<TargetScrub>) {
        loop {
            let pause = self.step().await.unwrap_or_else(|error| {
                tracing::warn!(target_id = %self.id, %error, "a scrub cannot go on now");
                AGAIN
            });
            tokio::time::sleep(pause).await;
        }
    }

    /// Does what is next; how long to wait then.
    async fn step(&self) -> Result<Duration, WireError> {
        let (seen, most_bytes) = (self.target.used(), self.target.most_data_bytes());
        let next = self.state.lock().next(self.now(), seen, most_bytes);
        let mut pause = Duration::ZERO;
        match next {
            Next::Sleep(time) => pause = time,
            Next::Again(at) => {
                let piece = self.repairs().piece(at).await?;
                self.state.lock().pace.read(cost([piece.data_bytes()]));
                self.look(&piece).await;
            }
            Next::Step(at, bytes) => self.read(at, bytes).await?,
        }
        if self.state.lock().is_to_be_saved(self.now()) {
            self.target.kv().wait_room().await;
            self.save();
        }
        self.target.note_data_bytes()?;
        Ok(pause)
    }

    /// Reads a few pieces from there on.
    async fn read(&self, at: WalkAt, bytes: u32) -> Result<(), WireError> {
        let StorageReply::Walked { pieces, next } = walk(&self.target, at, bytes, true).await? else {
            return Err(mistake());
        };
        self.state.lock().pace.read(cost(pieces.iter().map(WalkPiece::data_bytes)));
        for piece in &pieces {
            let known = self.state.lock().damage.has(piece.at);
            if known || piece.bad != 0 {
                self.look(piece).await;
            }
        }
        let mut state = self.state.lock();
        state.step(pieces.iter().map(WalkPiece::data_bytes).sum(), next.filter(|next| *next > at), self.now());
        if state.progress.at.is_none() {
            self.target.scrubbed(state.progress.bytes);
            tracing::info!(target_id = %self.id, progress = ?state.progress, "a scrub has ended");
        }
        Ok(())
    }

    fn repairs(&self) -> Repairs<'_> {
        Repairs { id: self.id, target: &self.target, asks: &self.asks }
    }

    /// Has what is bad in a piece repaired, and notes what is left.
    async fn look(&self, piece: &WalkPiece) {
        let (bits, reason) = self.repairs().judge(piece).await;
        self.state.lock().looked(piece.at, bits, reason, self.now());
    }

    /// Remembers where it is, and what it found.
    pub fn save(&self) {
        let mut state = self.state.lock();
        let saved = rows::save(self.target.kv(), &state.progress, &state.unsaved());
        state.saved(saved.is_ok(), self.now());
        if let Err(error) = saved {
            tracing::warn!(target_id = %self.id, %error, "where a scrub is cannot be remembered now");
        }
    }

    /// How it is.
    pub fn describe(&self) -> ScrubState {
        describe::describe(&self.state.lock(), self.now().ms, self.target.counted_bytes())
    }

    /// Figures.
    pub fn figures(&self) -> ScrubFigures {
        describe::figures(&self.state.lock(), self.now().ms)
    }
}
