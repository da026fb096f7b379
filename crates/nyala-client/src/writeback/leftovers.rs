// SPDX-License-Identifier: Apache-2.0

//! What interrupted writes left behind a file's end at storage.
//!
//! **Failure model.** A client dies, or metadata loses power, when storage has data whose size, or whose move from the
//! inode, was not committed. It lies behind the end that metadata knows, or beside inline content, and would show as
//! soon as the file grows past it without writing there. Metadata knows which files that may be
//! (`FileReply::leftovers`). Who is about to leave a gap behind the end of one, or moves its inline content, has the
//! chunk files cut first: once under an exclusive delegation, since what is written under it is committed or lost with
//! it. The cut is on disk when it is answered, and refused when the session was fenced. A size that is set is
//! metadata's: it cuts at the old one.
//!
//! `nyala scrub --leftovers --remove` has what lies beside inline content cut: under an exclusive delegation, which
//! keeps all movers out, and only where metadata itself says that somebody may have left something. A cut is repeated
//! without harm.
//!
//! `nyala fsck --repair` has what lies behind the end cut where nobody will leave a gap: under an exclusive delegation, for which
//! others commit what they have written, and to the size that is then metadata's; beside inline content too, but only where an
//! administrator says that metadata is not an old copy, since what lies there may be newer than what is inline.
//!
//! Nobody may cut where several clients write at once: what lies there may be on its way to be committed. There, left-over
//! bytes may show in a gap.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::Result;
use crate::file::logic::leftovers::Leftovers;
use crate::file::state::{File, leftovers};
use crate::rpc::storage::ChunkRange;
use crate::writeback::owner::Writeback;
use nyala_wire::{Layout, SessionId};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Lets writes go on, whatever way the cut ends.
struct Cutting<'a> {
    file: &'a File,
    became: Leftovers,
}

impl Drop for Cutting<'_> {
    fn drop(&mut self) {
        let mut state = self.file.state.lock();
        leftovers::end_cut(&mut state, self.became);
        drop(state);
        self.file.news.notify_waiters();
    }
}

impl Writeback {
    /// Before an exclusive delegation's holder writes a range: nothing is left behind the end that could show in a gap.
    pub(crate) async fn cut_leftovers(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        range: &Range<u64>,
        session: SessionId,
    ) -> Result<()> {
        loop {
            let news = file.news.notified();
            let (layout, from) = {
                let mut state = file.state.lock();
                let Some(from) = leftovers::cut_from(&state, range).filter(|_| state.session() == session) else {
                    return Ok(());
                };
                let layout = state.layout().cloned();
                (layout.filter(|_| leftovers::begin_cut(&mut state)), from)
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
        self: &Arc<Writeback>,
        file: &Arc<File>,
        layout: &Layout,
        size: u64,
        session: SessionId,
    ) -> Result<()> {
        let mut cuts = JoinSet::new();
        for index in layout.indices() {
            let chunk = ChunkRange { inode: file.inode, location: layout.location(index), index, offset: 0 };
            let (writeback, len) = (self.clone(), layout.chunk_file_len(index, size));
            cuts.spawn(async move { writeback.cluster.storage_cut(chunk, session, len).await });
        }
        while let Some(cut) = cuts.join_next().await {
            cut.unwrap_or(Err(crate::error::Error::ShutDown))?;
        }
        Ok(())
    }

    /// Cuts what lies at storage beside a file's inline content. Whether it could: the content is inline, a delegation
    /// was to be had, and metadata tells of leftovers.
    pub(crate) async fn cut_beside_inline(self: &Arc<Writeback>, file: &Arc<File>) -> Result<bool> {
        let admission = self.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
        let beyond = {
            let state = file.state.lock();
            let listed = state.is_inline() && state.leftovers() != Leftovers::Clean;
            (listed && admission.access == Access::Cached).then_some(state.inline_limit()..state.inline_limit() + 1)
        };
        let Some(beyond) = beyond else { return Ok(false) };
        self.cut_leftovers(file, &beyond, admission.session).await?;
        Ok(true)
    }

    /// Cuts what lies at storage behind a striped file's end, or beside inline content, whatever metadata knows of it. Whether it
    /// could: this client has nothing on its way there, and a delegation was to be had. Its own programs write nothing meanwhile.
    pub(crate) async fn cut_behind_end(self: &Arc<Writeback>, file: &Arc<File>) -> Result<bool> {
        let admission = self.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
        let known = {
            let state = file.state.lock();
            let settled = admission.access == Access::Cached && state.is_clean();
            let size = if state.is_inline() { 0 } else { state.size() };
            state.layout().cloned().filter(|_| settled).map(|layout| (layout, size))
        };
        let Some((layout, size)) = known else { return Ok(false) };
        self.cut(file, &layout, size, admission.session).await?;
        Ok(true)
    }
}
