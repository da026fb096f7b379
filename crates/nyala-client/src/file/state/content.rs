// SPDX-License-Identifier: Apache-2.0

//! Where a file's content is. Pure.
//!
//! From `Unknown` to `Inline` with the server's first reply. From there to `Migrating` when a write does not fit inline, or to
//! `Striped` when another client moved it. From `Migrating` to `Striped` when the server has heard of it, or to `Unknown` when
//! what was written is dropped, as only the server knows then what it has.

pub(crate) use super::location::Content;
use super::migration::InlineMigration;
use crate::writeback::logic::ranges::RangeSet;
use bytes::Bytes;
use nyala_wire::Layout;
use std::sync::Arc;

/// Largest piece of a chunk that is one storage write or one read-ahead segment.
pub(crate) const MAX_UNIT: u64 = 1 << 20;

pub(crate) struct ContentState {
    content: Content,
    /// Known unless the content is `Unknown`.
    layout: Option<Arc<Layout>>,
    unit: u64,
    inline_limit: u64,
    /// The server has lost changes of inline content that this client knows, its size among them: the next push says this one.
    resize: Option<u64>,
}

impl ContentState {
    /// Nothing is known.
    pub(crate) fn new() -> ContentState {
        ContentState { content: Content::Unknown, layout: None, unit: MAX_UNIT, inline_limit: 0, resize: None }
    }

    pub(crate) fn get(&self) -> &Content {
        &self.content
    }

    pub(crate) fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    /// Largest inline content, bytes.
    pub(crate) fn inline_limit(&self) -> u64 {
        self.inline_limit
    }

    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.content, Content::Inline { .. })
    }

    pub(crate) fn migration(&self) -> Option<&InlineMigration> {
        if let Content::Migrating(migration) = &self.content { Some(migration) } else { None }
    }

    pub(crate) fn migration_mut(&mut self) -> Option<&mut InlineMigration> {
        if let Content::Migrating(migration) = &mut self.content { Some(migration) } else { None }
    }

    /// The server's first reply: inline and empty, until the rest of the reply says more.
    pub(crate) fn learn(&mut self, layout: &Layout, inline_limit: u32) {
        assert!(matches!(self.content, Content::Unknown) && self.layout.is_none(), "a file was learnt twice");
        self.layout = Some(Arc::new(layout.clone()));
        (self.unit, self.inline_limit) = (u64::from(layout.chunk_bytes).clamp(1, MAX_UNIT), inline_limit.into());
        self.content = Content::Inline { version: 0, data: Bytes::new() };
    }

    /// Whether the data was moved to other targets meanwhile; the chunk size stays, so that nothing that is cut by it changes.
    pub(crate) fn relocate(&mut self, now: &Layout) -> bool {
        let before = self.layout.as_mut().filter(|layout| layout.is_before(now));
        before.map(|layout| *layout = Arc::new(now.clone())).is_some()
    }

    /// The data is, or goes, elsewhere.
    pub(crate) fn locate(&mut self, layout: Arc<Layout>) {
        self.layout = Some(layout);
    }

    /// The server has other inline content.
    pub(crate) fn replace_inline(&mut self, version: u64, data: Bytes) {
        assert!(self.is_inline(), "content that left the inode does not come back");
        self.content = Content::Inline { version, data };
    }

    /// The server counts inline content from this version on.
    pub(crate) fn set_version(&mut self, new: u64) {
        // why: only inline content has a version, and callers have looked at it.
        let Content::Inline { version, .. } = &mut self.content else { panic!("only inline content has a version") };
        *version = new;
    }

    /// The server says that another client moved the content to storage.
    pub(crate) fn set_striped(&mut self) {
        assert!(self.is_inline(), "content is not inline that was found moved");
        self.content = Content::Striped;
    }

    /// The content moves to storage, beneath what this client wrote (`own`).
    pub(crate) fn begin_migration(&mut self, own: RangeSet) {
        // why: what is striped cannot be moved there, and callers have looked at it.
        let Content::Inline { version, data } = &self.content else { panic!("only inline content can be moved") };
        self.content = Content::Migrating(InlineMigration::new(*version, data.len() as u64, own));
    }

    /// The server has no copy any more. Nothing happens if the move was dropped meanwhile.
    pub(crate) fn end_migration(&mut self) {
        if matches!(self.content, Content::Migrating(_)) {
            self.content = Content::Striped;
        }
    }

    /// What was written is dropped: what moving content is, only the server can say, and lost changes are not repeated.
    pub(crate) fn discard(&mut self) {
        if matches!(self.content, Content::Migrating(_)) {
            (self.content, self.layout) = (Content::Unknown, None);
        }
        self.resize = None;
    }

    /// The file was cut to `size` bytes.
    pub(crate) fn cut(&mut self, size: u64) {
        if let Content::Inline { data, .. } = &mut self.content {
            data.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        }
    }

    /// The size that the next push has to say, if the server lost the one that it had.
    pub(crate) fn resize(&self) -> Option<u64> {
        self.resize
    }

    /// The server has an older version, and another size: what is known here is pushed again.
    pub(crate) fn roll_back(&mut self, version: u64, size: u64) {
        self.set_version(version);
        self.resize = Some(size);
    }

    /// The server has what was pushed, as this version.
    pub(crate) fn pushed(&mut self, pushed: u64, data: Bytes) {
        self.resize = None;
        if matches!(self.content, Content::Inline { version, .. } if version < pushed) {
            self.replace_inline(pushed, data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{Pattern, TargetId};

    fn inline(data: &'static [u8]) -> ContentState {
        let mut content = ContentState::new();
        let layout =
            Layout { pattern: Pattern::Raid0, chunk_bytes: 65_536, targets: vec![TargetId(1)], moves: 0, code: None };
        content.learn(&layout, 4096);
        content.replace_inline(3, Bytes::from_static(data));
        content
    }

    #[test]
    fn content_moves_to_storage_and_stays_there() {
        let mut content = inline(b"kept");
        content.begin_migration(RangeSet::default());
        let migration = content.migration().unwrap();
        assert_eq!((migration.version(), migration.base_len()), (3, 4));
        content.end_migration();
        assert!(matches!(content.get(), Content::Striped));
        content.discard();
        assert!(content.layout().is_some() && matches!(content.get(), Content::Striped));
    }

    #[test]
    fn a_move_that_is_dropped_leaves_nothing_known() {
        let mut content = inline(b"kept");
        content.begin_migration(RangeSet::default());
        content.discard();
        assert!(content.layout().is_none() && !content.is_inline());
        content.end_migration();
        assert!(matches!(content.get(), Content::Unknown), "it was dropped before");
    }

    #[test]
    fn what_is_pushed_does_not_replace_what_is_newer() {
        let mut content = inline(b"kept");
        content.roll_back(1, 9);
        assert_eq!(content.resize(), Some(9));
        content.pushed(2, Bytes::from_static(b"pushed"));
        content.pushed(2, Bytes::from_static(b"late"));
        assert_eq!(content.resize(), None);
        assert!(matches!(content.get(), Content::Inline { version: 2, data } if data == "pushed"));
    }

    #[test]
    #[should_panic(expected = "does not come back")]
    fn striped_content_does_not_become_inline() {
        let mut content = inline(b"kept");
        content.set_striped();
        content.replace_inline(4, Bytes::new());
    }
}
