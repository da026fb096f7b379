// SPDX-License-Identifier: Apache-2.0

//! What becomes of the records of a connection's requests. Failure model: see the parent module.

use super::clock::{Clock, Moment};
use super::parts::Parts;
use super::record::Record;
use super::slow::{Sender, SlowOperations};
use super::traces::Traces;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Where the records of one connection's requests go.
pub(crate) struct Records {
    /// Of requests that are followed.
    pub traces: Arc<Traces>,
    slow: SlowOperations,
    sender: Sender,
    /// For the next request that is not followed, if no request has it: most are answered before the next one begins.
    spare: RefCell<Rc<Parts>>,
}

impl Records {
    pub fn new(traces: Arc<Traces>, slow: SlowOperations, sender: Sender) -> Records {
        Records { traces, slow, sender, spare: RefCell::new(Parts::new(Clock::Coarse)) }
    }

    /// When frames came that are there now; not asked for if nobody wants to know.
    pub fn now(&self) -> Moment {
        if self.slow.is_on() { Clock::Coarse.read() } else { Moment::default() }
    }

    /// What a request is measured in, if it is.
    pub fn parts(&self, trace: Option<u64>) -> Option<Rc<Parts>> {
        if trace.is_some() {
            return Some(Parts::of(Clock::Exact, trace));
        }
        if !self.slow.is_on() {
            return None;
        }
        let mut spare = self.spare.borrow_mut();
        if Rc::strong_count(&spare) > 1 {
            *spare = Parts::new(Clock::Coarse);
        }
        Some(spare.clone())
    }

    /// A reply leaves at a moment of the coarse clock, after waiting for what it rested on.
    pub fn leaves(&self, record: &Record, left: Moment, rests_on: &'static str, request: u64, message_type: u16) {
        let left = if record.clock == Clock::Exact { record.clock.read() } else { left };
        if let Some(trace) = record.trace {
            self.traces.add(trace, record.traced(left, rests_on, request, message_type, self.sender.node));
        }
        self.slow.leaves(record, left, rests_on, &self.sender, message_type);
    }
}
