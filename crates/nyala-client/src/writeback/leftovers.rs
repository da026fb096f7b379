// SPDX-License-Identifier: Apache-2.0

//! What interrupted writes left behind a file's end at storage.
//!
//! **Failure model.** A client dies, or metadata loses power, when storage has data whose size, or whose move from the inode, was not
//! committed. It lies behind the end that metadata knows, or beside inline content, and would show as soon as the file
//! grows past it without writing there. Metadata knows which files that may be (`FileReply::leftovers`). Who is about to leave a gap
//! behind the end of one, or moves its inline content, has the chunk files cut first: once under an exclusive lease, since
//! what is written under it is committed or lost with it. The cut is on disk when it is answered, and refused when the session was
//! fenced. A size that is set is metadata's: it cuts at the old one.
//!
//! Nobody may cut where several clients write at once: what lies there may be on its way to be committed. There, left-over
//! bytes may show in a gap.

use crate::core::Core;
use crate::error::Result;
use crate::file::state::{File, FileState};
use crate::rpc::storage::ChunkRange;
use nyala_wire::{Layout, SessionId};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What is known of the space behind the end, under the lease that the file was loaded under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// Somebody may have left something there.
    Unknown,
    /// It is being cut; writes wait.
    Cutting,
    /// There is only what this client wrote.
    Clean,
}

impl FileState {
    /// Its server says whether there may be something. What this client has not committed is not in doubt.
    pub(crate) fn note_leftovers(&mut self, leftovers: bool) {
        match (leftovers, self.leftovers) {
            (true, Leftovers::Clean) if self.is_clean() => self.leftovers = Leftovers::Unknown,
            (false, Leftovers::Unknown) if !self.loaded => self.leftovers = Leftovers::Clean,
            _ => {}
        }
    }

    /// From where on chunk files have to be cut before a range is written, in bytes of the file.
    pub(crate) fn leftovers_from(&self, range: &Range<u64>) -> Option<u64> {
        match self.leftovers {
            Leftovers::Clean => None,
            _ if self.is_inline() => (range.end > self.inline_limit).then_some(0),
            Leftovers::Cutting => Some(self.size),
            Leftovers::Unknown => (range.start > self.size).then_some(self.size),
        }
    }
}

/// Lets writes go on, whatever way the cut ends.
struct Cutting<'a> {
    file: &'a File,
    became: Leftovers,
}

impl Drop for Cutting<'_> {
    fn drop(&mut self) {
        let mut state = self.file.state.lock();
        // Else the lease went meanwhile, and what is known with it.
        if state.leftovers == Leftovers::Cutting {
            state.leftovers = self.became;
        }
        drop(state);
        self.file.news.notify_waiters();
    }
}

impl Core {
    /// Before an exclusive lease's holder writes a range: nothing is left behind the end that could show in a gap.
    pub(crate) async fn cut_leftovers(
        self: &Arc<Core>,
        file: &Arc<File>,
        range: &Range<u64>,
        session: SessionId,
    ) -> Result<()> {
        loop {
            let news = file.news.notified();
            let (layout, from) = {
                let mut state = file.state.lock();
                let Some(from) = state.leftovers_from(range).filter(|_| state.session == session) else {
                    return Ok(());
                };
                let layout = state.layout.clone();
                match std::mem::replace(&mut state.leftovers, Leftovers::Cutting) {
                    Leftovers::Cutting => (None, from),
                    _ => (layout, from),
                }
            };
            let Some(layout) = layout else {
                news.await;
                continue;
            };
            let mut cutting = Cutting { file, became: Leftovers::Unknown };
            self.cut(file, &layout, from, session).await?;
            cutting.became = Leftovers::Clean;
        }
    }

    /// Cuts all chunk files to what a file of that size has in them.
    pub(crate) async fn cut(
        self: &Arc<Core>,
        file: &Arc<File>,
        layout: &Layout,
        size: u64,
        session: SessionId,
    ) -> Result<()> {
        let mut cuts = JoinSet::new();
        for index in 0..layout.targets.len() as u16 {
            let chunk = ChunkRange { inode: file.inode, home: layout.home(index), index, offset: 0 };
            let (core, len) = (self.clone(), layout.chunk_file_len(index, size));
            cuts.spawn(async move { core.storage_cut(chunk, session, len).await });
        }
        while let Some(cut) = cuts.join_next().await {
            cut.unwrap_or(Err(crate::error::Error::ShutDown))?;
        }
        Ok(())
    }
}
