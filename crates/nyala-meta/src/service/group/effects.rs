// SPDX-License-Identifier: Apache-2.0

//! What the member wants done. What touches the tables is done in order, one after the other; it waits where the store has no room.
//! Failure model: an error of the store ends the service ([`News::Failed`]), but for damage that a copy comes upon: the copy waits. Records are applied one by one: a crash leaves some.

use super::compare::sum_up;
use super::copy::{begin_copy, put_rows, read_rows};
use super::{GroupShell, News, rows};
use nyala_kv::Batch;
use nyala_namespace::runs;
use nyala_replica::log::{LogEffect, LogInput};
use nyala_store::StoreError;
use nyala_wire::MapVersion;
use std::rc::Rc;
use std::time::Duration;

/// Rows that cannot be read are read again after so long.
const READ_AGAIN: Duration = Duration::from_secs(2);

impl GroupShell {
    pub(super) fn carry_out(self: &Rc<Self>, effect: LogEffect) {
        match effect {
            LogEffect::Send(to, envelope, records) => self.send(to, envelope, records),
            LogEffect::Committed(index) => {
                let began_us = self.setup.flusher.committed(index);
                began_us.into_iter().for_each(|began_us| self.note_latency(true, began_us));
            }
            LogEffect::DurableEverywhere(index) => drop(self.durable.send_replace(index)),
            LogEffect::Lead(_) => self.tell(News::Lead),
            LogEffect::StepDown => self.tell(News::StepDown),
            LogEffect::ReadRows { member, from, bytes } => match read_rows(&self.setup.tables, &from, bytes) {
                Ok((to, rows)) => self.input(LogInput::Rows { member, from, to, rows }),
                Err(error) if error.is_damage() => self.read_later(&error, LogEffect::ReadRows { member, from, bytes }),
                Err(error) => self.tell(News::Failed(error)),
            },
            LogEffect::Compared(from, number, sum) => self.state.borrow().comparing.heard(from, number, sum),
            LogEffect::Ask(command) => self.ask(&command),
            LogEffect::FetchMap => {
                let version = self.state.borrow().map.version;
                self.setup.member.watch().heard_of(MapVersion(version.0 + 1));
            }
            in_order => {
                self.state.borrow_mut().queue.push_back(in_order);
                self.work();
            }
        }
    }

    /// Rows for a copy that cannot be read are read again after a while: `nyala fsck --repair` may have set them aside. The service goes
    /// on for its clients; if another member has everything, this run is about to end anyway ([`crate::service::damage`]).
    fn read_later(self: &Rc<Self>, error: &StoreError, read: LogEffect) {
        tracing::error!(group = %self.setup.group, %error, "a copy for another member waits for damaged tables");
        let shell = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(READ_AGAIN).await;
            shell.upgrade().into_iter().for_each(|shell| shell.carry_out(read.clone()));
        });
    }

    /// Does what is queued, as far as it need not wait.
    fn work(self: &Rc<Self>) {
        if std::mem::replace(&mut self.state.borrow_mut().working, true) {
            return;
        }
        loop {
            let next = self.state.borrow_mut().queue.pop_front();
            let Some(effect) = next else {
                self.state.borrow_mut().working = false;
                return;
            };
            let ends_copy = matches!(&effect, LogEffect::PutRows { to, .. } if to.is_empty());
            if !ends_copy && !self.setup.tables.store.over_limit() {
                self.done(self.do_now(&effect), effect);
                continue;
            }
            let shell = self.clone();
            tokio::task::spawn_local(async move {
                let store = &shell.setup.tables.store;
                store.wait_room().await;
                let mut result = shell.do_now(&effect);
                if ends_copy && result.is_ok() {
                    result = store.wait_durable(store.written()).await;
                }
                shell.done(result, effect);
                shell.state.borrow_mut().working = false;
                shell.work();
            });
            return;
        }
    }

    fn do_now(self: &Rc<Self>, effect: &LogEffect) -> Result<(), StoreError> {
        let tables = &self.setup.tables;
        match effect {
            LogEffect::Apply { records, .. } => {
                let invalid = StoreError::InvalidBatch { reason: "a record of the mirror group is not a batch" };
                let batch = &mut *self.applying.borrow_mut();
                for record in records {
                    if !batch.load(record) {
                        return Err(invalid);
                    }
                    tables.change(batch)?;
                }
                self.write()
            }
            LogEffect::BeginTerm { term, index } => {
                let mut batch = Batch::new();
                rows::put_group(&mut batch, self.setup.group);
                rows::put_term(&mut batch, *term, *index);
                if let Some(run) = self.setup.run
                    && let Err(error) = runs::goes_on(tables, &mut batch, run, *index)
                {
                    // Less counts as found after a power cut, then, and clients send more again.
                    tracing::error!(group = %self.setup.group, %error, "this run's term is not noted");
                }
                self.setup.flusher.number_from(*index);
                self.setup.flusher.apply(tables, &batch)
            }
            LogEffect::BeginCopy { state, position, terms } => {
                begin_copy(tables, self.setup.group, state, position.index, terms)?;
                self.write()
            }
            LogEffect::PutRows { from, to, rows, last, copy } => {
                put_rows(tables, (from, to), rows, *last, *copy)?;
                self.write()
            }
            _ => Ok(()),
        }
    }

    /// The member hears that something is done.
    fn done(self: &Rc<Self>, result: Result<(), StoreError>, effect: LogEffect) {
        if let Err(error) = result {
            return self.tell(News::Failed(error));
        }
        match effect {
            LogEffect::Apply { first, records } => self.input(LogInput::Written(first + records.len() as u64 - 1)),
            LogEffect::BeginCopy { .. } | LogEffect::PutRows { .. } => self.input(LogInput::CopyTaken),
            LogEffect::Sync(_) => self.sync(),
            LogEffect::SumUp(range) => {
                let keys = (&range.from[..], &range.to[..]);
                let sum = sum_up(&self.setup.tables, keys, range.most, usize::MAX);
                let sum = sum.inspect_err(|error| tracing::error!(%error, "a part of the tables cannot be read")).ok();
                self.input(LogInput::Summed(range.number, sum.map(|(sum, _)| sum)));
            }
            // What is applied is handed over with the next input.
            LogEffect::BeginTerm { .. } => self.input(LogInput::Tick),
            _ => {}
        }
    }

    /// Hands what is applied to the operating system.
    fn write(&self) -> Result<(), StoreError> {
        let store = &self.setup.tables.store;
        let written = store.flush()?;
        let mut state = self.state.borrow_mut();
        let last = state.replica.last();
        // Only what nothing is queued behind is all that there is.
        if state.queue.is_empty() {
            state.marks.push_back((written, last));
        }
        Ok(())
    }

    /// Has the log put on disk.
    pub(super) fn sync(self: &Rc<Self>) {
        let shell = self.clone();
        tokio::task::spawn_local(async move {
            let store = &shell.setup.tables.store;
            match store.wait_durable(store.written()).await {
                Ok(()) => shell.look_at_disk(),
                Err(error) => shell.tell(News::Failed(error)),
            }
        });
    }

    /// The member learns what is on disk.
    pub(super) fn look_at_disk(self: &Rc<Self>) {
        let (durable, mut index) = (self.setup.tables.store.durable(), None);
        {
            let mut state = self.state.borrow_mut();
            while let Some((_, last)) = state.marks.pop_front_if(|(lsn, _)| *lsn <= durable) {
                index = Some(last);
            }
        }
        index.into_iter().for_each(|index| self.input(LogInput::Durable(index)));
    }
}
