// SPDX-License-Identifier: Apache-2.0

//! The tables in memory as one: the active one over the frozen one, and the merge of both over the ordered store.

use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::memtable::Memtable;
use crate::ordered::{CheckpointMeta, OrderedStore};
use crate::{StoreError, Value};
use nyala_kv::Visit;

/// A table that takes no more changes, and the checkpoint that it makes.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub table: Arc<Memtable>,
    pub meta: CheckpointMeta,
}

/// What is newer than the ordered store.
#[derive(Default)]
pub(crate) struct Tables {
    pub active: Memtable,
    pub frozen: Option<Frozen>,
}

impl Tables {
    /// `None`: look in the ordered store.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Value>> {
        let found = self.active.get(key).or_else(|| self.frozen.as_ref().and_then(|frozen| frozen.table.get(key)));
        found.map(Option::<&Value>::cloned)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.active.bytes() + self.frozen.as_ref().map_or(0, |frozen| frozen.table.bytes())
    }

    /// Visits the range in order: newest version of each key, deleted ones hidden. The range must not be inverted.
    pub(crate) fn scan(
        &self,
        below: &dyn OrderedStore,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let empty = Memtable::default();
        let frozen = self.frozen.as_ref().map_or(&empty, |frozen| &*frozen.table);
        let newer = self.active.range(from, to).peekable();
        let mut over = Overlay { newer, older: frozen.range(from, to).peekable() }.peekable();
        let mut stopped = false;
        below.scan(from, to, &mut |key, value| {
            let flow = visit_below(&mut over, key, value, visit);
            stopped = flow.is_break();
            flow
        })?;
        while let (false, Some((key, value))) = (stopped, over.next()) {
            stopped = value.is_some_and(|value| visit(key, value).is_break());
        }
        Ok(())
    }
}

type Entry<'a> = (&'a [u8], Option<&'a Value>);

/// Visits what lies over and before an entry of the ordered store, then the entry unless it is overlaid.
fn visit_below<'a>(
    over: &mut Peekable<impl Iterator<Item = Entry<'a>>>,
    key: &[u8],
    value: &[u8],
    visit: &mut Visit<'_>,
) -> ControlFlow<()> {
    while let Some((newer_key, newer_value)) = over.next_if(|(newer_key, _)| *newer_key <= key) {
        if let Some(newer_value) = newer_value {
            visit(newer_key, newer_value)?;
        }
        if newer_key == key {
            return ControlFlow::Continue(());
        }
    }
    visit(key, value)
}

/// Two ordered iterators as one; on equal keys the newer wins.
struct Overlay<'a, N: Iterator<Item = Entry<'a>>, O: Iterator<Item = Entry<'a>>> {
    newer: Peekable<N>,
    older: Peekable<O>,
}

impl<'a, N: Iterator<Item = Entry<'a>>, O: Iterator<Item = Entry<'a>>> Iterator for Overlay<'a, N, O> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (Some((newer, _)), Some((older, _))) = (self.newer.peek(), self.older.peek()) else {
            return self.newer.next().or_else(|| self.older.next());
        };
        if newer > older {
            return self.older.next();
        }
        if newer == older {
            self.older.next();
        }
        self.newer.next()
    }
}
