// SPDX-License-Identifier: Apache-2.0

//! Taking written bytes in.
//!
//! **Failure model.** Applications may write faster than servers take: writers wait while the client's limit is used up.
//! Nothing is lost in between: bytes are taken piece by piece and each is either buffered or not.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::state::File;
use crate::file::state::content::Content;
use crate::file::state::leftovers;
use crate::writeback::buffer::WritePart;
use crate::writeback::flush::Flush;
use crate::writeback::owner::Writeback;
use nyala_wire::meta::MAX_FILE_BYTES;
use nyala_wire::{ErrorCode, SessionId};
use std::sync::Arc;

/// Taking in so many bytes takes longer than letting others on.
const LONG_PIECE: usize = 16 << 10;

impl Writeback {
    /// Writes `data` at `offset`: buffered, or to the servers at once where nothing may be kept.
    pub(crate) async fn write(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        offset: u64,
        data: &[u8],
        buffered: bool,
    ) -> Result<()> {
        self.check_write(offset, data)?;
        let admission = self.delegations.admit(file, Need { write: true, cached: buffered, patient: false }).await?;
        match admission.access {
            Access::Cached | Access::Timed => self.write_cached(file, offset, data, admission.session).await?,
            Access::Direct => {
                if buffered {
                    self.delegations.withdraw_behind(file, offset + data.len() as u64).await;
                }
                self.write_direct(file, offset, data, buffered, admission.session).await?;
            }
        }
        self.ctx.stats.written_bytes.add(data.len() as u64);
        Ok(())
    }

    pub(crate) fn check_write(&self, offset: u64, data: &[u8]) -> Result<()> {
        if self.ctx.is_stopped() {
            return Err(Error::ShutDown);
        }
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > MAX_FILE_BYTES) {
            return Err(Error::refused(ErrorCode::FILE_TOO_BIG, "no file can be that long"));
        }
        Ok(())
    }

    /// Buffers; an exclusive delegation is held under this session, or none at all are used. Fails once the session has ended.
    pub(crate) async fn write_cached(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        offset: u64,
        data: &[u8],
        session: SessionId,
    ) -> Result<()> {
        let mut at = offset;
        for piece in data.chunks(self.memory.piece()) {
            self.write_piece(file, at, piece, session).await?;
            at += piece.len() as u64;
            if piece.len() >= LONG_PIECE {
                // Others write too, perhaps next to this: who has room all the time must not leave them behind.
                tokio::task::yield_now().await;
            } else {
                tokio::task::coop::consume_budget().await;
            }
        }
        Ok(())
    }

    /// Everything written so far is at the servers.
    pub(crate) async fn flush_now(self: &Arc<Writeback>, file: &Arc<File>) -> Result<()> {
        let _gate = file.pass_gate(&self.ctx).await?;
        self.flush(file, Flush::default()).await
    }

    async fn write_piece(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        at: u64,
        data: &[u8],
        session: SessionId,
    ) -> Result<()> {
        let end = at + data.len() as u64;
        self.let_others_fill(file, at..end).await;
        loop {
            if !file.state.lock().pending_attrs().is_settled() {
                self.flush_now(file).await?;
            }
            let (migrates, unclean) = {
                let state = file.state.lock();
                let unclean = self.ctx.config.delegations && leftovers::cut_from(&state, &(at..end)).is_some();
                match state.content() {
                    Content::Inline { data, .. } if end > state.inline_limit() => (Some(data.len()), unclean),
                    _ => (None, unclean),
                }
            };
            if unclean {
                self.cut_leftovers(file, &(at..end), session).await?;
            }
            // Room for the inline content too: it becomes dirty data when the file moves to storage.
            let room = data.len() + migrates.unwrap_or(0);
            self.memory.take(room, || self.reclaim()).await;
            let part = WritePart { at, data, room, session };
            let used = if migrates.is_some() {
                match file.pass_gate(&self.ctx).await {
                    Ok(_gate) => self.buffer(file, part),
                    Err(error) => Err(error),
                }
            } else {
                self.buffer(file, part)
            };
            self.memory.give_back(room - used.as_ref().map_or(0, |used| used.unwrap_or(0)));
            if used?.is_some() {
                self.pump_written(file, at..end);
                return Ok(());
            }
        }
    }
}
