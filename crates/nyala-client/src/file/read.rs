// SPDX-License-Identifier: Apache-2.0

//! Reading: from inline content, from what was read ahead, from storage, and own unsent bytes over it.
//!
//! **Failure model.** See `rpc::storage` for what storage may do. Own bytes that are on no server are noted before storage
//! is asked, so a read sees every write of this client that returned before it began.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::logic::inline;
use crate::file::logic::read_ahead::{Plan, Stream};
use crate::file::ops::FileOps;
use crate::file::read_cache::Segment;
use crate::file::read_encoded::{Piece, read_encoded};
use crate::file::state::content::Content;
use crate::file::state::{File, FileState, stripe_writes};
use crate::listener::FileEnd;
use crate::rpc::logic::segments::Segments;
use crate::rpc::storage::ChunkRange;
use crate::writeback::logic::ranges::RangeSet;
use bytes::Bytes;
use nyala_transport::trace::{carried, under};
use nyala_wire::storage::MAX_IO_BYTES;
use nyala_wire::{ErrorCode, InodeId, Layout};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Reads of data that was moved meanwhile.
const TRIES: usize = 4;

/// Where a part of a read comes from.
enum Source {
    Cached(Arc<Segment>),
    Direct(Range<u64>),
}

/// What a read needs, noted at one moment.
struct Noted {
    range: Range<u64>,
    layout: Arc<Layout>,
    size: u64,
    unsent: Vec<(u64, Bytes)>,
    sources: Vec<Source>,
    ahead: Vec<Arc<Segment>>,
}

impl FileOps {
    pub(crate) async fn read(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        stream: &Mutex<Stream>,
        offset: u64,
        len: usize,
        buffered: bool,
    ) -> Result<Segments> {
        // What was encoded is moved under the eyes of readers when somebody is about to write to it: it is elsewhere now.
        for _ in 1..TRIES {
            match self.read_as_known(file, stream, offset, len, buffered).await {
                // Who moved it may not have heard yet that it is done.
                Err(error) if error.is(ErrorCode::STALE) => file.move_lock.wait().await,
                done => return done,
            }
        }
        self.read_as_known(file, stream, offset, len, buffered).await
    }

    async fn read_as_known(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        stream: &Mutex<Stream>,
        offset: u64,
        len: usize,
        buffered: bool,
    ) -> Result<Segments> {
        let admission = self.delegations.admit(file, Need { write: false, cached: buffered, patient: false }).await?;
        match admission.access {
            Access::Cached => {}
            Access::Direct => return self.read_direct(file, offset, len).await,
            Access::Timed => self.delegations.freshen(file).await?,
        }
        self.read_admitted(file, stream, offset, len).await
    }

    /// How a file of this size ends. Its delegation is on its way back, and everything that was admitted under it over.
    pub(crate) async fn end_at(self: &Arc<FileOps>, file: &Arc<File>, size: u64) -> Result<Option<FileEnd>> {
        let Some(at) = size.checked_sub(1) else { return Ok(None) };
        let read = self.read_admitted(file, &Mutex::new(Stream::new()), at, 1).await?;
        Ok(read.first().map(|last| FileEnd { size, last }))
    }

    /// Reads what is known under a delegation.
    async fn read_admitted(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        stream: &Mutex<Stream>,
        offset: u64,
        len: usize,
    ) -> Result<Segments> {
        let (noted, newly_active) = {
            let mut state = file.state.lock();
            let end = offset.saturating_add(len as u64).min(state.size());
            if offset >= end {
                return Ok(Segments::new(offset));
            }
            self.ctx.stats.read_bytes.add(end - offset);
            if let Content::Inline { data, .. } = state.content() {
                let mut out = Segments::new(offset);
                out.push(inline::read(data, offset..end));
                state.written().unsent(offset..end).into_iter().for_each(|(at, bytes)| out.overlay(at, bytes));
                return Ok(out);
            }
            let noted = self.plan(&mut state, stream, offset..end)?;
            (noted, !state.cache().is_empty() && state.activate())
        };
        if newly_active {
            self.files.activate(file);
        }
        for segment in &noted.ahead {
            let (ops, inode, layout, segment) = (self.clone(), file.inode, noted.layout.clone(), segment.clone());
            let size = noted.size;
            tokio::spawn(async move { ops.fill(inode, (&layout, size), &segment).await.map(drop) });
        }
        self.gather(file.inode, noted).await
    }

    fn plan(&self, state: &mut FileState, stream: &Mutex<Stream>, range: Range<u64>) -> Result<Noted> {
        let stored = stripe_writes::stored_at(state).ok_or(Error::Protocol { what: "read", detail: "no layout" })?;
        let max_window = self.ctx.config.read_ahead_bytes as u64;
        let plan = stream.lock().on_read(range.start, range.end - range.start, max_window);
        let unsent = state.written().unsent(range.clone());
        let mut own = RangeSet::default();
        unsent.iter().for_each(|(at, data)| own.insert(*at..*at + data.len() as u64));
        let (layout, size) = stored;
        let mut noted = Noted { range: range.clone(), layout, size, unsent, sources: Vec::new(), ahead: Vec::new() };
        if own.gaps(range.clone()).is_empty() {
            return Ok(noted);
        }
        if plan.sequential {
            self.note_segments(state, &plan, &mut noted);
            if state.is_loaded() && state.size() <= self.ctx.config.read_cache_bytes as u64 / 8 {
                return Ok(noted);
            }
            // Consumed; a little is left for reads that come out of order.
            let behind = (range.start / state.unit()).saturating_sub(1) * state.unit();
            state.cache_mut().remove(0..behind);
        } else {
            noted.sources.push(Source::Direct(range));
        }
        Ok(noted)
    }

    fn note_segments(&self, state: &mut FileState, plan: &Plan, noted: &mut Noted) {
        let (unit, now_ms) = (state.unit(), self.ctx.now_ms());
        let cache_ms = if state.is_loaded() { u64::MAX } else { self.ctx.cache_ms() };
        let limit = self.ctx.config.read_cache_bytes;
        let make = |state: &mut FileState, start: u64| {
            let mut add = || state.cache_mut().add(start..start + unit, now_ms, &self.cached_bytes, limit);
            add().or_else(|| if self.files.shed() { add() } else { None })
        };
        let mut start = noted.range.start / unit * unit;
        let mut made = Vec::new();
        while start < noted.range.end {
            if let Some(segment) = state.cache().get(start, now_ms, cache_ms) {
                self.ctx.stats.cache_hits.add(1);
                noted.sources.push(Source::Cached(segment));
            } else if let Some(segment) = make(state, start) {
                made.push(segment.clone());
                noted.sources.push(Source::Cached(segment));
            } else {
                let part = start.max(noted.range.start)..(start + unit).min(noted.range.end);
                noted.sources.push(Source::Direct(part));
            }
            start += unit;
        }
        // The reader itself fetches a lone segment; several go out side by side.
        if made.len() > 1 {
            noted.ahead = made;
        }
        let mut start = plan.prefetch.start.max(noted.range.end).div_ceil(unit) * unit;
        while start < plan.prefetch.end.min(state.size()) {
            if state.cache().get(start, now_ms, cache_ms).is_none() {
                let Some(segment) = make(state, start) else { break };
                noted.ahead.push(segment);
            }
            start += unit;
        }
    }

    /// Fills a segment unless somebody does or did; gives its bytes.
    async fn fill<'a>(
        self: &Arc<FileOps>,
        inode: InodeId,
        place: (&Arc<Layout>, u64),
        segment: &'a Segment,
    ) -> Result<&'a Segments> {
        let fetched = segment.content.get_or_init(|| self.fetch(inode, place, segment.range.clone())).await;
        fetched.as_ref().map_err(Clone::clone)
    }

    async fn gather(self: &Arc<FileOps>, inode: InodeId, noted: Noted) -> Result<Segments> {
        let Range { start, end } = noted.range;
        let place = (&noted.layout, noted.size);
        let mut out = Segments::new(start);
        if noted.sources.is_empty() {
            out.push_zeros(end - start);
        }
        for source in &noted.sources {
            match source {
                Source::Direct(range) => {
                    let part = self.fetch(inode, place, range.clone()).await?;
                    out.push_part(&part, start, end);
                }
                Source::Cached(segment) => match self.fill(inode, place, segment).await {
                    Ok(part) => out.push_part(part, start, end),
                    // Something in the segment cannot be read; that is this read's business only if it asked for it.
                    Err(_) => {
                        let wanted = segment.range.start.max(start)..segment.range.end.min(end);
                        let part = self.fetch(inode, place, wanted).await?;
                        out.push_part(&part, start, end);
                    }
                },
            }
        }
        noted.unsent.into_iter().for_each(|(at, bytes)| out.overlay(at, bytes));
        Ok(out)
    }

    /// Reads a range of a file with this layout and size from storage; pieces on several targets or longer than one request side by side.
    pub(crate) async fn fetch(
        self: &Arc<FileOps>,
        inode: InodeId,
        (layout, size): (&Arc<Layout>, u64),
        range: Range<u64>,
    ) -> Result<Segments> {
        let mut pieces = Vec::new();
        for extent in layout.extents(range.start, range.end - range.start) {
            let mut done = 0;
            while done < extent.len {
                let len = (extent.len - done).min(u64::from(MAX_IO_BYTES));
                let location = layout.location(extent.index);
                let chunk = ChunkRange { inode, location, index: extent.index, offset: extent.chunk_offset + done };
                pieces.push(Piece { chunk, len, at: extent.file_offset + done });
                done += len;
            }
        }
        if let [piece] = pieces[..] {
            return self.read_piece(layout, size, piece).await;
        }
        let mut reads = JoinSet::new();
        let mut parts = vec![None; pieces.len()];
        for (number, piece) in pieces.into_iter().enumerate() {
            let (ops, layout) = (self.clone(), layout.clone());
            let read = async move { (number, ops.read_piece(&layout, size, piece).await) };
            reads.spawn(carried(under(), read));
        }
        while let Some(done) = reads.join_next().await {
            let (number, part) = done.map_err(|_| Error::ShutDown)?;
            parts[number] = Some(part?);
        }
        let mut out = Segments::new(range.start);
        parts.iter().flatten().for_each(|part| out.push_part(part, range.start, range.end));
        Ok(out)
    }

    async fn read_piece(self: &Arc<FileOps>, layout: &Arc<Layout>, size: u64, piece: Piece) -> Result<Segments> {
        match layout.encoded() {
            Some(code) => read_encoded(self, (layout, code), size, piece).await,
            None => self.cluster.read_bulk(piece.chunk, piece.len, piece.at).await,
        }
    }

    pub(crate) async fn read_direct(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        offset: u64,
        len: usize,
    ) -> Result<Segments> {
        let (unsent, own_end, stripes) = {
            let state = file.state.lock();
            let stripes = state.stripes().writing().and_then(|_| stripe_writes::stored_at(&state));
            // Left from a delegation that was lost, and not sent yet.
            (state.written().unsent(offset..offset.saturating_add(len as u64)), state.written().own_end(), stripes)
        };
        let reply = self.cluster.look(file.inode).await?;
        let end = offset.saturating_add(len as u64).min(reply.attr.size.max(own_end));
        let mut out = Segments::new(offset);
        if offset >= end {
            return Ok(out);
        }
        self.ctx.stats.read_bytes.add(end - offset);
        match (stripes, &reply.inline) {
            // Its server has not heard of them.
            (Some((layout, size)), _) => out = self.fetch(file.inode, (&layout, size), offset..end).await?,
            (None, Some(content)) => out.push(inline::read(&content.data, offset..end)),
            (None, None) => {
                let layout = Arc::new(reply.layout.clone());
                out = self.fetch(file.inode, (&layout, reply.attr.size), offset..end).await?;
            }
        }
        unsent.into_iter().for_each(|(at, bytes)| out.overlay(at, bytes));
        Ok(out)
    }
}
