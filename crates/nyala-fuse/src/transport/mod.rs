// SPDX-License-Identifier: Apache-2.0

//! The seam between what carries requests and what serves them.
//!
//! A transport gives requests, each in a buffer of its own, and takes replies as lists of byte slices. There are
//! [`dev::DevFuse`], which every mount has, and [`uring::UringFuse`], which takes over all but FORGET, INTERRUPT and
//! notifications where the kernel offers it and [`Transport`] says so.

mod choice;
pub(crate) mod dev;
pub(crate) mod uring;

pub(crate) use choice::{Choice, choose};
pub use choice::{Transport, UnknownTransport};

use crate::abi::header::InHeader;
use crate::buf::Buf;
use std::io::{self, IoSlice};

/// Names a request towards the transport that gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// The kernel's number.
    pub(crate) unique: u64,
}

/// A request as it came.
pub(crate) struct Request {
    pub(crate) header: InHeader,
    /// Holds the arguments, from `args_at` to the end of what is filled.
    pub(crate) buf: Buf,
    pub(crate) args_at: usize,
}

impl Request {
    /// The arguments.
    pub(crate) fn args(&self) -> &[u8] {
        self.buf.filled().get(self.args_at..).unwrap_or(&[])
    }

    pub(crate) fn ticket(&self) -> Ticket {
        Ticket { unique: self.header.unique }
    }
}

/// Carries requests and replies of one thread.
pub(crate) trait Channel: 'static {
    /// The next request; none when the mount is gone.
    async fn next(&self) -> io::Result<Option<Request>>;

    /// Answers a request: `error` is zero or a negative errno, `body` the reply without its header. Never blocks.
    fn reply(&self, ticket: Ticket, error: i32, body: &[IoSlice<'_>]) -> io::Result<()>;
}

/// What became of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyOutcome {
    /// The kernel has it, or no longer wants it.
    Settled,
    /// The kernel found it malformed and still waits for one.
    Refused,
}

/// Judges the result of [`Channel::reply`].
pub(crate) fn reply_outcome(result: &io::Result<()>) -> ReplyOutcome {
    match result.as_ref().map_err(io::Error::raw_os_error) {
        // ENOENT: the request was aborted. ENODEV, ENOTCONN, ECONNABORTED: the mount is gone.
        Ok(()) | Err(Some(libc::ENOENT | libc::ENODEV | libc::ENOTCONN | libc::ECONNABORTED)) => ReplyOutcome::Settled,
        Err(_) => ReplyOutcome::Refused,
    }
}
