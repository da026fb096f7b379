// SPDX-License-Identifier: Apache-2.0

//! What goes back for a request, and the guard that makes sure that something does.
//!
//! **Failure model.** A handler can panic or be dropped: its request is then answered with `EIO`, since an application
//! would otherwise wait for ever. The kernel can refuse a reply as malformed and keeps waiting: it is answered with
//! `EIO` too, and reported. A handler can return more than was asked: it is cut, or joined when in too many pieces.

use crate::errno::Errno;
use crate::transport::dev::MAX_PARTS;
use crate::transport::{Channel, ReplyOutcome, Ticket, reply_outcome};
use crate::types::ReadData;
use std::io::IoSlice;
use std::rc::Rc;
use zerocopy::{Immutable, IntoBytes};

/// Room for the largest fixed reply, that of CREATE; statx goes as bytes.
const FIXED_BYTES: usize = 160;

/// A successful reply.
pub(crate) enum Reply {
    Empty,
    Fixed([u8; FIXED_BYTES], usize),
    Bytes(Vec<u8>),
    /// At most so many bytes of it.
    Data(ReadData, usize),
}

impl Reply {
    /// A structure.
    pub(crate) fn of<T: IntoBytes + Immutable>(value: &T) -> Reply {
        Reply::pair(value, &())
    }

    /// The bytes of a reply that is one or two structures, or bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Reply::Fixed(bytes, len) => &bytes[..*len],
            Reply::Bytes(bytes) => bytes,
            Reply::Empty | Reply::Data(..) => &[],
        }
    }

    /// Two structures, one after the other.
    pub(crate) fn pair<A: IntoBytes + Immutable, B: IntoBytes + Immutable>(first: &A, second: &B) -> Reply {
        let (first, second) = (first.as_bytes(), second.as_bytes());
        let len = first.len() + second.len();
        let mut bytes = [0; FIXED_BYTES];
        match bytes.get_mut(..len) {
            Some(room) => {
                room[..first.len()].copy_from_slice(first);
                room[first.len()..].copy_from_slice(second);
                Reply::Fixed(bytes, len)
            }
            None => Reply::Bytes([first, second].concat()),
        }
    }
}

/// Answers one request, exactly once.
pub(crate) struct Replier<C: Channel> {
    channel: Rc<C>,
    ticket: Ticket,
    opcode: u32,
    done: bool,
}

impl<C: Channel> Replier<C> {
    pub(crate) fn new(channel: Rc<C>, ticket: Ticket, opcode: u32) -> Replier<C> {
        Replier { channel, ticket, opcode, done: false }
    }

    /// For requests that take no reply.
    pub(crate) fn forgo(mut self) {
        self.done = true;
    }

    /// Answers.
    pub(crate) fn send(mut self, result: Result<Reply, Errno>) {
        self.done = true;
        match result {
            Err(errno) => self.write(-errno.raw(), &[]),
            Ok(Reply::Empty) => self.write(0, &[]),
            Ok(Reply::Fixed(bytes, len)) => self.write(0, &[IoSlice::new(&bytes[..len])]),
            Ok(Reply::Bytes(bytes)) => self.write(0, &[IoSlice::new(&bytes)]),
            Ok(Reply::Data(data, limit)) => self.send_data(&data, limit),
        }
    }

    fn send_data(&self, data: &ReadData, limit: usize) {
        match data {
            ReadData::Owned(bytes) => self.write(0, &[IoSlice::new(&bytes[..bytes.len().min(limit)])]),
            ReadData::Shared(bytes) => self.write(0, &[IoSlice::new(&bytes[..bytes.len().min(limit)])]),
            ReadData::Segments(segments) => {
                let mut left = limit;
                let mut parts = Vec::with_capacity(segments.len());
                for segment in segments {
                    let part = &segment[..segment.len().min(left)];
                    left -= part.len();
                    if !part.is_empty() {
                        parts.push(part);
                    }
                }
                if parts.len() > MAX_PARTS {
                    self.write(0, &[IoSlice::new(&parts.concat())]);
                } else {
                    let parts: Vec<IoSlice<'_>> = parts.into_iter().map(IoSlice::new).collect();
                    self.write(0, &parts);
                }
            }
        }
    }

    fn write(&self, error: i32, body: &[IoSlice<'_>]) {
        let result = self.channel.reply(self.ticket, error, body);
        if reply_outcome(&result) == ReplyOutcome::Settled {
            return;
        }
        let len: usize = body.iter().map(|part| part.len()).sum();
        let Ticket { unique } = self.ticket;
        tracing::error!(opcode = self.opcode, unique, error, len, ?result, "the kernel refused a reply");
        let again = self.channel.reply(self.ticket, -libc::EIO, &[]);
        if reply_outcome(&again) == ReplyOutcome::Refused {
            tracing::error!(opcode = self.opcode, unique, result = ?again, "the kernel refused an error as well");
        }
    }
}

impl<C: Channel> Drop for Replier<C> {
    fn drop(&mut self) {
        if !self.done {
            tracing::debug!(opcode = self.opcode, unique = self.ticket.unique, "request dropped without an answer");
            self.write(-libc::EIO, &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Request;
    use bytes::Bytes;
    use std::cell::RefCell;
    use std::io;

    /// Records replies; refuses bodies longer than `limit`.
    struct Recorder {
        limit: usize,
        sent: RefCell<Vec<(i32, Vec<u8>)>>,
    }

    impl Channel for Recorder {
        async fn next(&self) -> io::Result<Option<Request>> {
            Ok(None)
        }

        fn reply(&self, _ticket: Ticket, error: i32, body: &[IoSlice<'_>]) -> io::Result<()> {
            let body: Vec<u8> = body.iter().flat_map(|part| part.to_vec()).collect();
            if body.len() > self.limit {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            self.sent.borrow_mut().push((error, body));
            Ok(())
        }
    }

    fn recorder(limit: usize) -> Rc<Recorder> {
        Rc::new(Recorder { limit, sent: RefCell::default() })
    }

    fn replier(channel: &Rc<Recorder>) -> Replier<Recorder> {
        Replier::new(Rc::clone(channel), Ticket { unique: 7 }, 1)
    }

    #[test]
    fn a_dropped_request_is_answered_with_eio() {
        let channel = recorder(1000);
        drop(replier(&channel));
        replier(&channel).forgo();
        assert_eq!(*channel.sent.borrow(), [(-libc::EIO, vec![])]);
    }

    #[test]
    fn a_refused_reply_is_answered_with_eio() {
        let channel = recorder(3);
        replier(&channel).send(Ok(Reply::Bytes(vec![1; 4])));
        assert_eq!(*channel.sent.borrow(), [(-libc::EIO, vec![])]);
    }

    #[test]
    fn data_is_cut_to_what_was_asked_and_joined_when_in_many_pieces() {
        let channel = recorder(1000);
        let pieces: Vec<Bytes> = (0..100u8).map(|byte| Bytes::from(vec![byte; 2])).collect();
        replier(&channel).send(Ok(Reply::Data(pieces.clone().into(), 151)));
        replier(&channel).send(Ok(Reply::Data(pieces[..3].to_vec().into(), 5)));
        replier(&channel).send(Ok(Reply::Data(vec![9; 9].into(), 4)));
        let sent = channel.sent.borrow();
        assert_eq!((sent[0].1.len(), sent[0].1[150]), (151, 75));
        assert_eq!(sent[1].1, [0, 0, 1, 1, 2]);
        assert_eq!(sent[2].1, [9; 4]);
    }
}
