// SPDX-License-Identifier: Apache-2.0

//! Group commit: everything that became ready in one turn of the reactor is written to the log with one write. Replies
//! that are ready wait for that with their connection, not each by itself.

use nyala_store::{Store, StoreError};
use nyala_wire::WireError;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::oneshot;

type Waiter = oneshot::Sender<Result<(), WireError>>;

/// Writes the store's buffered records once for all who wait.
pub struct Flusher {
    store: Store,
    waiting: RefCell<Vec<Waiter>>,
    unwritten: Cell<bool>,
    /// Number of writes so far.
    writes: Cell<u64>,
    on_failure: Box<dyn Fn(&StoreError)>,
}

impl Flusher {
    /// A flusher of this store; `on_failure` hears of a failed write, after which the store takes no more changes, and nothing
    /// that rests on what was not written is told to anybody.
    pub fn new(store: Store, on_failure: impl Fn(&StoreError) + 'static) -> Rc<Flusher> {
        Rc::new(Flusher {
            store,
            waiting: RefCell::default(),
            unwritten: Cell::new(false),
            writes: Cell::new(0),
            on_failure: Box::new(on_failure),
        })
    }

    /// Says that something was applied.
    pub fn applied(&self) {
        self.unwritten.set(true);
    }

    /// Whether something was applied that is not yet written.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten.get()
    }

    /// Number of the write that has to be done before anything that was seen now may be told.
    pub fn rests_on(&self) -> u64 {
        self.writes.get() + u64::from(self.unwritten.get())
    }

    /// Number of writes so far.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Returns when everything applied so far has left the process: it survives the process's death.
    pub async fn flushed(self: &Rc<Self>) -> Result<(), WireError> {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.push(sender);
            waiting.len() == 1
        };
        if first {
            let this = self.clone();
            tokio::task::spawn_local(async move {
                // Whoever is ready now still gets in before the write.
                tokio::task::yield_now().await;
                this.write();
            });
        }
        receiver.await.unwrap_or_else(|_| Err(crate::tables::store_error(StoreError::Closed)))
    }

    fn write(&self) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let result = self.store.flush().map(|_| ()).map_err(|error| {
            (self.on_failure)(&error);
            crate::tables::store_error(error)
        });
        // What was seen of memory stays unsaid for ever if it did not get to the disk.
        self.unwritten.set(result.is_err());
        self.writes.set(self.writes.get() + u64::from(result.is_ok()));
        for waiter in waiting {
            // A waiter that is gone does not want to know.
            let _ = waiter.send(result.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_store::testing::Machine;
    use nyala_store::{Batch, Options};

    #[test]
    fn what_rests_on_a_write_that_failed_is_never_safe() {
        let machine = Machine::new(1);
        let options = Options { manual: true, ..Options::default() };
        let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        let flusher = Flusher::new(store.clone(), move |_| hears.set(hears.get() + 1));
        let put = |value: u8| {
            store.apply(Batch::new().put("key", [value])).unwrap();
            flusher.applied();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            put(1);
            flusher.flushed().await.unwrap();
            assert_eq!((flusher.rests_on(), flusher.writes(), heard.get()), (1, 1, 0));
            put(2);
            machine.fail_at(machine.points());
            flusher.flushed().await.unwrap_err();
            assert!(flusher.rests_on() > flusher.writes() && heard.get() == 1);
            // Nor later, when there is nothing new to write.
            flusher.flushed().await.unwrap_err();
            assert!(flusher.rests_on() > flusher.writes());
        });
    }
}
