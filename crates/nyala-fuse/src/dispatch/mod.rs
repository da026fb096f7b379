// SPDX-License-Identifier: Apache-2.0

//! From a request to the handler's method and back to a reply.
//!
//! A request's future is polled once where it was read; only if it has to wait does it become a task. The transport and
//! the handler know nothing of each other.

mod dir;
mod early_reply;
mod file;
mod inode;
mod interrupt;
mod late;
mod lock;
mod reply;
mod run;
mod tree;
mod xattr;

pub(crate) use interrupt::Interrupts;
use reply::{Replier, Reply};
use run::run;

use crate::abi::header::{InHeader, UNIQUE_INTERRUPT};
use crate::abi::opcode::Opcode;
use crate::buf::{Buf, WriteData};
use crate::errno::Errno;
use crate::handler::Handler;
use crate::request::{self, FileOp, Op, ParseError};
use crate::transport::{Channel, Request};
use crate::types::Negotiated;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

/// What all requests of one thread share.
pub(crate) struct Server<H, C> {
    pub(crate) handler: Arc<H>,
    pub(crate) channel: Rc<C>,
    pub(crate) negotiated: Negotiated,
    pub(crate) interrupts: Arc<Interrupts>,
    /// When the thread's turn began: its first request was taken up then. None: it begins with the next one.
    pub(crate) turn: Cell<Option<Instant>>,
}

/// A request's work, not done at the first attempt.
pub(crate) type Pending = Pin<Box<dyn Future<Output = ()>>>;

/// Serves a request as far as it goes without waiting; the rest, if any, is for a task.
pub(crate) fn serve<H: Handler, C: Channel>(server: &Rc<Server<H, C>>, request: Request) -> Option<Pending> {
    let header = request.header;
    let came = Instant::now();
    let began = server.turn.get().unwrap_or(came);
    server.turn.set(Some(began));
    server.handler.arrived(header.opcode, header.uid);
    let replier = Replier::new(Rc::clone(&server.channel), request.ticket(), header.opcode);
    let op = match request::parse(&header, request.args(), server.negotiated.flags) {
        Ok(op) => op,
        Err(error) => {
            server.handler.answered(header.opcode, came.elapsed(), true);
            refuse(&header, error, replier);
            return None;
        }
    };
    if let Op::Interrupt(unique) = op {
        server.interrupts.interrupt(unique & !UNIQUE_INTERRUPT);
        replier.forgo();
        return None;
    }
    // Only a write still needs the buffer; everything else gives it back before the handler runs.
    let Request { buf, args_at, .. } = request;
    let (op, data) = match op {
        Op::File(FileOp::Write { write, data }) => {
            let bytes = WriteData::new(buf, args_at + data.start, args_at + data.end);
            (Op::File(FileOp::Write { write, data }), Some(bytes))
        }
        op => {
            drop::<Buf>(buf);
            (op, None)
        }
    };
    let mut work: Pending = Box::pin(run(Rc::clone(server), (header, came, came - began), op, data, replier));
    let mut cx = std::task::Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut cx))) {
        Ok(Poll::Pending) => Some(work),
        Ok(Poll::Ready(())) => None,
        // The panic dropped what the future held, and with it the replier, which answered.
        Err(_) => {
            tracing::error!(opcode = header.opcode, unique = header.unique, "the handler panicked");
            None
        }
    }
}

/// Answers a request that could not be understood.
fn refuse<C: Channel>(header: &InHeader, error: ParseError, replier: Replier<C>) {
    let InHeader { opcode, unique, nodeid, len, .. } = *header;
    match error {
        ParseError::Unknown(_) => tracing::info!(opcode, "the kernel asks for an operation that is not known here"),
        ParseError::Malformed(why) => tracing::error!(opcode, unique, nodeid, len, why, "malformed request"),
    }
    if Opcode::from_number(opcode).is_some_and(Opcode::is_silent) {
        return replier.forgo();
    }
    replier.send(Err(match error {
        ParseError::Unknown(_) => Errno::ENOSYS,
        ParseError::Malformed(_) => Errno::EINVAL,
    }));
}
