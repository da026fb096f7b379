// SPDX-License-Identifier: Apache-2.0

//! The server side of one connection.
//!
//! **Failure model.** A peer may send faster than it reads, send more than we can hold, send garbage, or vanish in the
//! middle. Reading stops while it has too many requests under way, too many replies unread, or the memory budget is used
//! up. A malformed frame ends the connection. Requests under way run to their end whatever happens to the connection: a
//! service must not be stopped half-way through a change.
//!
//! Replies of requests that were answered at once leave together, in one write, when the next frame would have to be
//! waited for; those of slower requests leave together with whatever else is ready by then. Replies may rest on
//! something that is not safe yet, such as a log record that is not written: all that wait then are waited for once.

use crate::frame_writer::{OutFrame, Sink};
use crate::handshake::{Established, PeerInfo};
use crate::host_report;
use crate::links::measure;
use crate::path::delivery::receiver_is_lost;
use crate::path::relay::Relaying;
use crate::reader::{FrameReader, ReadError};
use crate::request::Reply;
use crate::server::{Core, Service};
use crate::stream::split;
use crate::trace::{Followed, Moment, Record, Records, Sender, Traces};
use crate::wall_clock::wall_clock;
use bytes::Bytes;
use nyala_wire::frame::Frame;
use nyala_wire::frame::{Header, flags};
use nyala_wire::relay::MAX_PATH_TEST;
use nyala_wire::trace::TraceRequest;
use nyala_wire::{codec, message_type};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Reading stops while so many bytes of replies wait for the peer.
const MAX_UNREAD: usize = 16 << 20;

/// A reply that has not left.
struct Queued {
    /// What it rests on.
    rests_on: u64,
    frame: OutFrame,
    /// What that is called.
    rests_in: &'static str,
    /// What is recorded of its request, where that is measured.
    record: Option<Record>,
}

/// Replies of one connection and whoever writes them.
struct Outbox {
    queue: RefCell<VecDeque<Queued>>,
    queued_bytes: Cell<usize>,
    /// Here while nobody writes.
    sink: RefCell<Option<Sink>>,
    in_flight: Cell<usize>,
    closed: Cell<bool>,
    unanswered: Cell<bool>,
    wake_writer: Notify,
    wake_reader: Notify,
    /// Something was given to the socket.
    sent: Notify,
    records: Records,
}

/// Why a connection serves no further request.
enum End {
    Over(ReadError),
    /// It is to be one to another server.
    Relay(Frame),
}

/// Runs one connection to its end.
pub(crate) async fn serve_connection<S: Service>(core: &Rc<Core<S>>, established: Established) {
    let (peer, key, relayed) = (Rc::new(established.peer.clone()), established.key.clone(), established.relayed);
    let (read, write) = split(established);
    let options = &core.options;
    let budget = if peer.role.is_server() { &options.server_budget } else { &options.client_budget };
    let mut reader = FrameReader::new(read, core.buffers.clone(), Some(budget.clone()), core.config.dead_after);
    let sender = Sender { address: peer.address, role: peer.role, node: peer.node_id };
    let records = Records::new(core.traces.clone(), options.slow.clone(), sender);
    let outbox = Rc::new(Outbox::new(Sink::new(write), records));
    core.service.connected(&peer);
    let bye = Bye { service: core.service.clone(), peer: peer.clone(), outbox: outbox.clone() };
    let max_in_flight = options.max_in_flight.max(1);
    let socket = reader.socket();
    let end = tokio::select! {
        biased;
        end = read_requests(core.clone(), peer.clone(), &mut reader, outbox.clone(), max_in_flight) => end,
        error = write_replies(&*core.service, &outbox) => End::Over(ReadError::Io(error)),
        error = receiver_is_lost(&socket, &outbox.sent) => End::Over(ReadError::Io(error)),
        () = core.config.secret.retired(&key) => {
            End::Over(ReadError::Io(std::io::Error::other(format!("key {} is no longer in use", peer.grant.key))))
        }
    };
    drop(socket);
    match end {
        End::Relay(request) => {
            let sink = outbox.sink.borrow_mut().take();
            drop(bye);
            let relaying = Relaying { config: &core.config, slots: &core.relay_slots, peer: &peer, relayed };
            relaying.serve(reader, sink, request, |address| core.service.relays_to(&peer, address)).await;
        }
        End::Over(ReadError::Closed) => {
            tracing::debug!(address = %peer.address, node = peer.node_id, "peer disconnected");
            // Behind a relay it may be the relay that has ended.
            if !relayed {
                core.service.hung_up(&peer);
            }
        }
        End::Over(reason) => tracing::warn!(address = %peer.address, node = peer.node_id, %reason, "connection closed"),
    }
}

/// Tells the service, and drops what nobody will read, also when the task is aborted.
struct Bye<S: Service> {
    service: Rc<S>,
    peer: Rc<PeerInfo>,
    outbox: Rc<Outbox>,
}

impl<S: Service> Drop for Bye<S> {
    fn drop(&mut self) {
        self.outbox.closed.set(true);
        let unread = self.outbox.queue.take();
        let now = self.outbox.records.now();
        for Queued { frame, rests_in, record, .. } in unread {
            let (request, kind) = (frame.header.request_id, frame.header.message_type);
            record.iter().for_each(|record| self.outbox.records.leaves(record, now, rests_in, request, kind));
        }
        self.outbox.sink.borrow_mut().take();
        self.service.disconnected(&self.peer);
    }
}

async fn read_requests<S: Service>(
    core: Rc<Core<S>>,
    peer: Rc<PeerInfo>,
    reader: &mut FrameReader,
    outbox: Rc<Outbox>,
    max_in_flight: usize,
) -> End {
    let (mut first, mut came) = (true, Moment::default());
    loop {
        let is_new = reader.may_wait();
        let mut waits = is_new;
        loop {
            let full = outbox.in_flight.get() >= max_in_flight || outbox.queued_bytes.get() > MAX_UNREAD;
            if (waits || full)
                && let Err(error) = outbox.flush_now(core.service.safe_up_to())
            {
                return End::Over(error.into());
            }
            waits = false;
            if outbox.in_flight.get() < max_in_flight && outbox.queued_bytes.get() <= MAX_UNREAD {
                break;
            }
            outbox.wake_reader.notified().await;
        }
        let frame = match reader.next().await {
            Ok(frame) => frame,
            Err(error) => return End::Over(error),
        };
        if frame.header.is_reply() {
            return End::Over(ReadError::Io(std::io::Error::other("it sent a reply to a server")));
        }
        if frame.message_type() == message_type::RELAY {
            if first {
                return End::Relay(frame);
            }
            return End::Over(ReadError::Io(std::io::Error::other(
                "it wants to be relayed in the middle of a connection",
            )));
        }
        first = false;
        // What came with it, and is taken up later, came then.
        if is_new {
            came = outbox.records.now();
        }
        start(&core, &peer, &outbox, frame, (came, is_new));
    }
}

/// Polls the request once, here; most are answered by that. The others get a task.
fn start<S: Service>(core: &Rc<Core<S>>, peer: &Rc<PeerInfo>, outbox: &Rc<Outbox>, frame: Frame, came: (Moment, bool)) {
    let (request_id, message_type) = (frame.header.request_id, frame.header.message_type);
    if let Some(reply) = answered_here(outbox, &frame) {
        outbox.push(request_id, message_type, reply.into(), None);
        return;
    }
    if message_type == message_type::LINK_TEST {
        let (core, peer, under_way) = (core.clone(), peer.clone(), UnderWay::begin(outbox));
        tokio::task::spawn_local(async move {
            let may = |address| core.service.has_server_at(address);
            let reply = measure::answer(&peer, &frame, &core.config, &core.link_tests, may).await;
            under_way.answer(request_id, message_type, reply.into(), None);
        });
        return;
    }
    if message_type == message_type::HOST_REPORT {
        let (core, peer, under_way) = (core.clone(), peer.clone(), UnderWay::begin(outbox));
        tokio::task::spawn_local(async move {
            let reply = host_report::answer(&peer, &frame, core.options.host_reports.as_ref()).await;
            under_way.answer(request_id, message_type, reply.into(), None);
        });
        return;
    }
    let (service, peer, trace) = (core.service.clone(), peer.clone(), frame.header.trace());
    let call: Pin<Box<dyn Future<Output = Finished>>> = Box::pin(async move {
        let reply = service.call(&peer, frame).await;
        Finished { rests_on: service.rests_on(), rests_in: service.rests_in(), reply }
    });
    let mut answering = Followed::new(call, trace, came, outbox.records.parts(trace));
    // The task polls again at once, with its own waker: nothing is lost by this one.
    if let Poll::Ready((finished, record)) = Pin::new(&mut answering).poll(&mut Context::from_waker(Waker::noop())) {
        outbox.push(request_id, message_type, finished, record);
        return;
    }
    let under_way = UnderWay::begin(outbox);
    tokio::task::spawn_local(async move {
        let (finished, record) = answering.await;
        under_way.answer(request_id, message_type, finished, record);
    });
}

/// What came of a request.
struct Finished {
    rests_on: u64,
    rests_in: &'static str,
    reply: Reply,
}

impl From<Reply> for Finished {
    /// It rests on nothing.
    fn from(reply: Reply) -> Finished {
        Finished { rests_on: 0, rests_in: "", reply }
    }
}

/// The reply to a request that the connection layer answers at once.
fn answered_here(outbox: &Outbox, frame: &Frame) -> Option<Reply> {
    match frame.header.message_type {
        message_type::PATH_TEST => {
            // Of what is longer, nothing comes back.
            let payload = Some(frame.payload.clone()).filter(|bytes| !bytes.is_empty() && bytes.len() <= MAX_PATH_TEST);
            Some(Reply::ok(Bytes::new()).with_payload(payload.into_iter().collect()))
        }
        message_type::TRACE => Some(recorded(&outbox.records.traces, frame)),
        message_type::CLOCK => Some(Reply::ok(codec::encode(&wall_clock()))),
        _ => None,
    }
}

/// What is recorded of a trace.
fn recorded(traces: &Traces, frame: &Frame) -> Reply {
    match codec::decode::<TraceRequest>(&frame.body) {
        Ok(TraceRequest { trace }) => Reply::ok(codec::encode(&traces.of(trace))),
        Err(error) => Reply::error(codec::encode(&error)),
    }
}

/// Gives the slot back. A request that ends without a reply (its service panicked) takes the connection with it, so
/// that its sender learns about it.
struct UnderWay {
    outbox: Rc<Outbox>,
    answered: bool,
}

impl UnderWay {
    fn begin(outbox: &Rc<Outbox>) -> UnderWay {
        outbox.in_flight.set(outbox.in_flight.get() + 1);
        UnderWay { outbox: outbox.clone(), answered: false }
    }

    fn answer(mut self, request_id: u64, message_type: u16, finished: Finished, record: Option<Record>) {
        self.outbox.push(request_id, message_type, finished, record);
        self.answered = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.outbox.in_flight.set(self.outbox.in_flight.get() - 1);
        if !self.answered {
            self.outbox.unanswered.set(true);
        }
        self.outbox.wake_writer.notify_one();
        self.outbox.wake_reader.notify_one();
    }
}

impl Outbox {
    fn new(sink: Sink, records: Records) -> Outbox {
        Outbox {
            queue: RefCell::default(),
            queued_bytes: Cell::new(0),
            sink: RefCell::new(Some(sink)),
            in_flight: Cell::new(0),
            closed: Cell::new(false),
            unanswered: Cell::new(false),
            wake_writer: Notify::new(),
            wake_reader: Notify::new(),
            sent: Notify::new(),
            records,
        }
    }

    fn push(&self, request_id: u64, message_type: u16, finished: Finished, record: Option<Record>) {
        let Finished { rests_on, rests_in, reply } = finished;
        let rests_in = if rests_on > 0 { rests_in } else { "reply" };
        if self.closed.get() {
            let leaves = |record| self.records.leaves(record, self.records.now(), rests_in, request_id, message_type);
            return record.iter().for_each(leaves);
        }
        let header = Header {
            message_type,
            flags: flags::REPLY | (reply.flags & (flags::ERROR | !0xffff)),
            request_id,
            map_version: reply.map_version,
            group_epoch: reply.group_epoch,
            run: reply.run,
            log_position: reply.log_position,
            unsynced_records: reply.unsynced_records,
            ..Header::default()
        };
        let frame = OutFrame::with_file(header, reply.body, reply.payload, reply.file).or_else(|error| {
            // A service's own mistake; the caller must not wait for ever because of it.
            tracing::error!(%error, message_type, "reply is too long and was replaced by an empty error reply");
            OutFrame::new(Header { flags: flags::REPLY | flags::ERROR, ..header }, Bytes::new(), Vec::new())
        });
        let Ok(frame) = frame else { return };
        self.queued_bytes.set(self.queued_bytes.get() + frame.bytes());
        self.queue.borrow_mut().push_back(Queued { rests_on, frame, rests_in, record });
    }

    /// What the newest reply rests on, if any waits.
    fn newest(&self) -> Option<u64> {
        self.queue.borrow().back().map(|queued| queued.rests_on)
    }

    /// Moves queued replies to the sink as far as they are safe; true if it holds any.
    fn load(&self, sink: &mut Sink, safe: u64) -> bool {
        let mut queue = self.queue.borrow_mut();
        let now = if queue.is_empty() { Moment::default() } else { self.records.now() };
        while !sink.is_full() {
            let Some(Queued { frame, rests_in, record, .. }) = queue.pop_front_if(|queued| queued.rests_on <= safe)
            else {
                break;
            };
            if let Some(record) = record {
                self.records.leaves(&record, now, rests_in, frame.header.request_id, frame.header.message_type);
            }
            self.queued_bytes.set(self.queued_bytes.get() - frame.bytes());
            sink.push(frame);
        }
        !sink.is_empty()
    }

    /// Writes what is safe and the socket takes at once; the writer does the rest.
    fn flush_now(&self, safe: u64) -> std::io::Result<()> {
        let Some(newest) = self.newest() else { return Ok(()) };
        let Some(mut sink) = self.sink.borrow_mut().take() else { return Ok(()) };
        let mut all = true;
        while all && self.load(&mut sink, safe) {
            all = sink.try_flush()?;
        }
        self.sent.notify_one();
        self.sink.replace(Some(sink));
        if !all || newest > safe {
            self.wake_writer.notify_one();
        }
        Ok(())
    }
}

/// Writes replies of requests that took longer, those that had to become safe, and what the socket did not take at once.
async fn write_replies<S: Service>(service: &S, outbox: &Rc<Outbox>) -> std::io::Error {
    loop {
        outbox.wake_writer.notified().await;
        if outbox.unanswered.get() {
            return std::io::Error::other("a request ended without a reply");
        }
        if let Some(newest) = outbox.newest().filter(|newest| *newest > service.safe_up_to())
            && !service.settle(newest).await
        {
            return std::io::Error::other("what a reply rests on cannot be made safe");
        }
        let Some(mut sink) = outbox.sink.borrow_mut().take() else { continue };
        while outbox.load(&mut sink, service.safe_up_to()) {
            // Before: it may take for ever.
            outbox.sent.notify_one();
            if let Err(error) = sink.flush().await {
                return error;
            }
            outbox.wake_reader.notify_one();
        }
        outbox.sink.replace(Some(sink));
        // What came while the sink was away and is not safe yet: who pushed it found nobody to tell.
        if outbox.newest().is_some() {
            outbox.wake_writer.notify_one();
        }
    }
}
