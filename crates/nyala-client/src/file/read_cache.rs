// SPDX-License-Identifier: Apache-2.0

//! Segments of a file read ahead, bounded over the whole client.
//!
//! **Failure model.** Another client, or this one, may change what a segment holds: a segment is dropped when this client
//! writes or truncates there (and again when the write reaches storage, as it may have been read in between), when the
//! file's attributes show another writer, and after `cache_time` in any case. A failed read-ahead is forgotten: the
//! reader tries for itself.

use crate::error::Result;
use crate::rpc::logic::segments::Segments;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::OnceCell;

/// A segment, there or on its way.
pub(crate) struct Segment {
    pub(crate) range: Range<u64>,
    born_ms: u64,
    pub(crate) content: OnceCell<Result<Segments>>,
    total: Arc<AtomicUsize>,
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.total.fetch_sub((self.range.end - self.range.start) as usize, Ordering::AcqRel);
    }
}

/// The segments of one file, by offset.
#[derive(Default)]
pub(crate) struct ReadCache {
    segments: BTreeMap<u64, Arc<Segment>>,
}

impl ReadCache {
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The segment that starts at `start`, if it is young enough and did not fail.
    pub(crate) fn get(&self, start: u64, now_ms: u64, cache_ms: u64) -> Option<Arc<Segment>> {
        let segment = self.segments.get(&start)?;
        let good = now_ms.saturating_sub(segment.born_ms) <= cache_ms;
        (good && segment.content.get().is_none_or(Result::is_ok)).then(|| segment.clone())
    }

    /// A new segment, to be filled by the caller; `None` if the client's limit is reached.
    pub(crate) fn add(
        &mut self,
        range: Range<u64>,
        now_ms: u64,
        total: &Arc<AtomicUsize>,
        limit: usize,
    ) -> Option<Arc<Segment>> {
        let len = (range.end - range.start) as usize;
        if total.fetch_add(len, Ordering::AcqRel) + len > limit {
            total.fetch_sub(len, Ordering::AcqRel);
            return None;
        }
        let content = OnceCell::new();
        let segment = Arc::new(Segment { range: range.clone(), born_ms: now_ms, content, total: total.clone() });
        self.segments.insert(range.start, segment.clone());
        Some(segment)
    }

    /// Drops what overlaps `range`.
    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if !self.segments.is_empty() {
            self.segments.retain(|_, segment| segment.range.end <= range.start || segment.range.start >= range.end);
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    /// Drops what is too old to be used.
    pub(crate) fn expire(&mut self, now_ms: u64, cache_ms: u64) {
        self.segments.retain(|_, segment| now_ms.saturating_sub(segment.born_ms) <= cache_ms);
    }
}
