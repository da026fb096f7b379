// SPDX-License-Identifier: Apache-2.0

//! Group commit: everything that became ready in one turn of the reactor is written to the log with one write. Replies
//! that are ready wait for that with their connection, not each by itself.
//!
//! In a mirror group the records go to the other members first, and are written here when all good ones have them; a record is what
//! was applied and its number in the group's log. The next turn's records need not wait for that.

use super::group::rows;
use crate::store_error::store_error;
use crate::tables::Tables;
use nyala_kv::Batch;
use nyala_replica::log::Record;
use nyala_store::{Mark, Store, StoreError};
use nyala_transport::member::monotonic_us;
use nyala_transport::trace;
use nyala_wire::WireError;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::oneshot;

type Waiter = oneshot::Sender<Result<(), WireError>>;

/// Takes over what is applied ([`Flusher::hand_over`]) and sends it to the other members of a mirror group. Returns the last record that every good
/// member has.
pub type Replicate = dyn Fn() -> u64;

/// Records that are on their way to other members.
struct UnderWay {
    number: u64,
    index: u64,
    mark: Mark,
    /// When they were sent, microseconds ([`monotonic_us`]).
    began_us: u64,
    waiters: Vec<Waiter>,
}

/// Writes the store's buffered records once for all who wait.
pub struct Flusher {
    store: Store,
    waiting: RefCell<Vec<Waiter>>,
    unwritten: Cell<bool>,
    /// Number of writes that were begun, and that are done.
    begun: Cell<u64>,
    writes: Cell<u64>,
    group: RefCell<Option<Rc<Replicate>>>,
    under_way: RefCell<VecDeque<UnderWay>>,
    /// Records of the group that are applied and not handed over, and the number of the next one.
    applied: RefCell<Vec<Record>>,
    next_index: Cell<u64>,
    /// The last trace under which a request changed something, and the record of that.
    traced: Cell<Option<(u64, u64)>>,
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
            begun: Cell::new(0),
            writes: Cell::new(0),
            group: RefCell::default(),
            under_way: RefCell::default(),
            applied: RefCell::default(),
            next_index: Cell::new(1),
            traced: Cell::default(),
            on_failure: Box::new(on_failure),
        })
    }

    /// From now on records go to a mirror group before they are written.
    pub fn replicate_by(&self, replicate: Rc<Replicate>) {
        self.group.replace(Some(replicate));
    }

    /// The next record of the group has this number.
    pub fn number_from(&self, index: u64) {
        self.next_index.set(index);
    }

    /// Applies a batch; it is visible at once. Errors: the store's, with nothing done.
    pub fn apply(&self, tables: &Tables, batch: &Batch) -> Result<(), StoreError> {
        if self.group.borrow().is_none() {
            tables.change(batch)?;
        } else {
            // Exactly, since it is kept for other members.
            let mut record = Batch::with_capacity(batch.as_bytes().len() + rows::INDEX_ROW_BYTES);
            record.append(batch);
            rows::put_index(&mut record, self.next_index.get());
            tables.change(&record)?;
            if let Some(trace) = trace::current() {
                self.traced.set(Some((trace, self.next_index.get())));
            }
            self.next_index.set(self.next_index.get() + 1);
            self.applied.borrow_mut().push(record.into_bytes().into());
        }
        self.unwritten.set(true);
        Ok(())
    }

    /// Records that are applied and were not handed over yet.
    pub fn hand_over(&self) -> Vec<Record> {
        self.applied.take()
    }

    /// The trace of a followed request whose change is among the records behind `after`, up to `last`.
    pub fn trace_of(&self, after: u64, last: u64) -> Option<u64> {
        self.traced.get().filter(|(_, index)| (after + 1..=last).contains(index)).map(|(trace, _)| trace)
    }

    /// Number of the last record of the group that is applied.
    pub fn last_index(&self) -> u64 {
        self.next_index.get() - 1
    }

    /// Whether something was applied that is not yet written (in a group: at every good member).
    pub fn has_unwritten(&self) -> bool {
        self.unwritten.get() || self.writes.get() < self.begun.get()
    }

    /// Number of the write that has to be done before anything that was seen now may be told.
    pub fn rests_on(&self) -> u64 {
        self.begun.get() + u64::from(self.unwritten.get())
    }

    /// What is waited for that waits for a write: in a group, a record goes to all members before it is written here.
    pub fn name(&self) -> &'static str {
        if self.group.borrow().is_some() { "mirrors" } else { "log" }
    }

    /// Number of writes so far.
    pub fn writes_done(&self) -> u64 {
        self.writes.get()
    }

    /// Returns when everything applied so far has left the process: it survives the process's death (in a group: of any member).
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
        receiver.await.unwrap_or_else(|_| Err(store_error(StoreError::Closed)))
    }

    fn write(&self) {
        let group = self.group.borrow().clone();
        match group {
            None => self.write_alone(),
            Some(replicate) => self.write_with(&*replicate),
        }
    }

    fn write_alone(&self) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let result = self.store.flush().map(|_| ()).map_err(|error| self.failed(error));
        // What was seen of memory stays unsaid for ever if it did not get to the disk.
        self.unwritten.set(result.is_err());
        self.writes.set(self.writes.get() + u64::from(result.is_ok()));
        self.begun.set(self.writes.get());
        tell(waiting, &result);
    }

    fn write_with(&self, replicate: &Replicate) {
        let waiters = std::mem::take(&mut *self.waiting.borrow_mut());
        self.begun.set(self.begun.get() + u64::from(self.unwritten.replace(false)));
        let (number, index, mark) = (self.begun.get(), self.last_index(), self.store.mark());
        let began_us = monotonic_us();
        self.under_way.borrow_mut().push_back(UnderWay { number, index, mark, began_us, waiters });
        self.committed(replicate());
    }

    /// All good members of the group have everything up to this record: it is written here, too, and told. Returns when the last of what is
    /// told was sent, microseconds.
    pub fn committed(&self, index: u64) -> Option<u64> {
        let mut done = Vec::new();
        while let Some(next) = self.under_way.borrow_mut().pop_front_if(|next| next.index <= index) {
            done.push(next);
        }
        let last = done.last()?;
        let began_us = last.began_us;
        let result = self.store.flush_up_to(last.mark).map(|_| ()).map_err(|error| self.failed(error));
        match &result {
            Ok(()) => self.writes.set(last.number),
            Err(_) => self.unwritten.set(true),
        }
        done.into_iter().for_each(|done| tell(done.waiters, &result));
        Some(began_us)
    }

    fn failed(&self, error: StoreError) -> WireError {
        (self.on_failure)(&error);
        store_error(error)
    }
}

fn tell(waiters: Vec<Waiter>, result: &Result<(), WireError>) {
    for waiter in waiters {
        // A waiter that is gone does not want to know.
        let _ = waiter.send(result.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_store::Options;
    use nyala_store::testing::Machine;

    #[test]
    fn what_rests_on_a_write_that_failed_is_never_safe() {
        let machine = Machine::new(1);
        let options = Options { manual: true, ..Options::default() };
        let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        let flusher = Flusher::new(store.clone(), move |_| hears.set(hears.get() + 1));
        let tables = Tables::new(store.clone()).unwrap();
        let put = |value: u8| flusher.apply(&tables, Batch::new().put("key", [value])).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            put(1);
            flusher.flushed().await.unwrap();
            assert_eq!((flusher.rests_on(), flusher.writes_done(), heard.get()), (1, 1, 0));
            put(2);
            machine.fail_at(machine.points());
            flusher.flushed().await.unwrap_err();
            assert!(flusher.rests_on() > flusher.writes_done() && heard.get() == 1);
            // Nor later, when there is nothing new to write.
            flusher.flushed().await.unwrap_err();
            assert!(flusher.rests_on() > flusher.writes_done());
        });
    }
}
