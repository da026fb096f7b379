// SPDX-License-Identifier: Apache-2.0

//! Operations as values: each step takes replies and returns effects.
//!
//! An operation is written as an `async` function that only ever waits for its [`Port`]. Nothing runs it but [`Operation::step`]: no clock, no
//! thread, no waker. What it does follows from its arguments and the replies alone.

use crate::effect::{Effect, Reply};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// What comes of a step.
#[derive(Debug)]
pub enum Step<T> {
    /// Do all of these, in any order or at once; the replies are wanted in the order of the effects.
    Run(Vec<Effect>),
    /// The operation is over.
    Done(T),
}

#[derive(Default)]
struct Exchange {
    effects: Vec<Effect>,
    replies: Option<Vec<Reply>>,
}

/// Where an operation leaves its effects and finds the replies.
#[derive(Clone, Default)]
pub(crate) struct Port(Arc<Mutex<Exchange>>);

impl Port {
    fn with<T>(&self, change: impl FnOnce(&mut Exchange) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands effects out and waits for their replies.
    pub async fn run(&self, effects: Vec<Effect>) -> Vec<Reply> {
        let count = effects.len();
        if count == 0 {
            return Vec::new();
        }
        self.with(|exchange| *exchange = Exchange { effects, replies: None });
        let wait = poll_fn(|_| self.with(|exchange| exchange.replies.take().map_or(Poll::Pending, Poll::Ready)));
        let replies = wait.await;
        assert_eq!(replies.len(), count, "one reply for each effect");
        replies
    }
}

/// An operation under way.
pub struct Operation<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    port: Port,
}

impl<T> Operation<T> {
    pub(crate) fn new<F: Future<Output = T> + Send + 'static>(start: impl FnOnce(Port) -> F) -> Operation<T> {
        let port = Port::default();
        Operation { future: Box::pin(start(port.clone())), port }
    }

    /// Goes on with the replies to the effects of the last step; the first step takes none.
    pub fn step(&mut self, replies: Vec<Reply>) -> Step<T> {
        self.port.with(|exchange| exchange.replies = Some(replies));
        match self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Step::Done(outcome),
            Poll::Pending => Step::Run(self.port.with(|exchange| std::mem::take(&mut exchange.effects))),
        }
    }

    /// Runs to the end with somebody who does effects.
    pub fn finish(mut self, mut run: impl FnMut(Vec<Effect>) -> Vec<Reply>) -> T {
        let mut replies = Vec::new();
        loop {
            match self.step(replies) {
                Step::Run(effects) => replies = run(effects),
                Step::Done(outcome) => return outcome,
            }
        }
    }
}
