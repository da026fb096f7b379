// SPDX-License-Identifier: Apache-2.0

//! Tables in memory with their log, for tests and simulations. Copies share what they hold.

use super::io::Tables;
use crate::view::{MemView, View};
use nyala_kv::{Batch, ChangeKind, Visit};
use nyala_wire::WireError;
use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Inner {
    view: MemView,
    log: Vec<Batch>,
    written: usize,
    full: bool,
}

/// Tables in memory.
#[derive(Clone, Debug, Default)]
pub struct MemTables(Rc<RefCell<Inner>>);

impl MemTables {
    /// Tables that a log leads to; all of it is written.
    pub fn of(log: Vec<Batch>) -> MemTables {
        let mut view = MemView::default();
        log.iter().for_each(|batch| view.apply(batch));
        let written = log.len();
        MemTables(Rc::new(RefCell::new(Inner { view, log, written, full: false })))
    }

    /// What is in them.
    pub fn view(&self) -> Ref<'_, MemView> {
        Ref::map(self.0.borrow(), |inner| &inner.view)
    }

    /// All that was applied, in order.
    pub fn log(&self) -> Vec<Batch> {
        self.0.borrow().log.clone()
    }

    /// Number of batches that were applied.
    pub fn applied(&self) -> usize {
        self.0.borrow().log.len()
    }

    /// Whether there is no room for what makes them larger.
    pub fn set_full(&self, full: bool) {
        self.0.borrow_mut().full = full;
    }

    /// Everything that is applied is written.
    pub fn write(&self) {
        let mut inner = self.0.borrow_mut();
        inner.written = inner.log.len();
    }
}

impl View for MemTables {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        self.0.borrow().view.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        self.0.borrow().view.scan(from, to, visit)
    }
}

impl Tables for MemTables {
    fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        let mut inner = self.0.borrow_mut();
        inner.view.apply(batch);
        inner.log.push(batch.clone());
        Ok(())
    }

    fn position(&self) -> u64 {
        self.applied() as u64
    }

    fn has_unwritten(&self) -> bool {
        let inner = self.0.borrow();
        inner.written < inner.log.len()
    }

    fn is_full(&self) -> bool {
        false
    }

    fn admits(&self, kind: ChangeKind) -> bool {
        !self.0.borrow().full || kind != ChangeKind::Grows
    }
}
