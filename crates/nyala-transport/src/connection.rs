// SPDX-License-Identifier: Apache-2.0

//! The client side of one connection: any number of requests under way at once, told apart by their ids.
//!
//! **Failure model.** The connection can break at any moment: every call that waits gets `Disconnected` at once, and
//! whether its request was executed is not known. A reply may be late, repeated, or belong to a call that was given up:
//! it is dropped. A call whose future is dropped is forgotten; if its request was still queued it is never sent. A peer
//! that sends anything but replies is not trusted further. A server that is alive but does not answer is noticed only by
//! the request's own timeout; that requests do not reach its host is noticed by how the kernel's delivery goes ([`crate::path`]).

use crate::buffers::Buffers;
use crate::error::TransportError;
use crate::frame_writer::{OutFrame, Sink};
use crate::handshake::{self, Established, HandshakeConfig, PeerInfo};
use crate::path::delivery::{LOOK, Observer};
use crate::reader::FrameReader;
use crate::request::Request;
use crate::socket;
use crate::stream::split;
use crate::trace::{Exchange, Tracer};
use bytes::Bytes;
use nyala_wire::frame::{Frame, Header, flags};
use nyala_wire::message_type;
use nyala_wire::relay::MAX_PATH_TEST;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};

/// Buffers that a connection of its own keeps for later payloads, bytes.
const KEPT_BYTES: usize = 32 << 20;

type Answer = Result<Frame, TransportError>;

/// An established connection. Clones share it; it closes when the last one is dropped. May be used from any thread.
#[derive(Clone)]
pub struct Connection {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

struct Shared {
    peer: PeerInfo,
    state: Mutex<State>,
    wake_writer: Notify,
    /// Requests do not arrive.
    stuck: AtomicBool,
    /// It ended, not by our own wish, while requests waited.
    lost_requests: AtomicBool,
    /// Somebody waits for requests to look after.
    idle: AtomicBool,
    wake_observer: Notify,
    /// Told when it is stuck or dead.
    news: Arc<Notify>,
    tracer: Option<Arc<Tracer>>,
}

/// Ids are given in the order of the queue, so that a request given up is found in it by its id.
#[derive(Default)]
struct State {
    next_id: u64,
    queue: VecDeque<Option<OutFrame>>,
    pending: HashMap<u64, oneshot::Sender<Answer>, BuildHasherDefault<IdHasher>>,
    dead: Option<TransportError>,
}

/// Forgets the call when its future is dropped.
struct Waiting<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Connection {
    /// Connects and proves a key. Its tasks run on the calling runtime.
    pub async fn connect(address: SocketAddr, config: &HandshakeConfig) -> Result<Connection, TransportError> {
        let attempt = async |config: HandshakeConfig| {
            let stream = socket::connect(address, config.connect_timeout, config.dead_after, None).await?;
            handshake::connect(stream, address, &config, false).await
        };
        let established = handshake::with_keys(config, attempt).await?;
        Ok(Connection::over(established, config, Buffers::new(KEPT_BYTES), Arc::default()))
    }

    /// Over an established one. `news` is told when it is stuck or dead.
    pub(crate) fn over(
        established: Established,
        config: &HandshakeConfig,
        buffers: Buffers,
        news: Arc<Notify>,
    ) -> Connection {
        let peer = established.peer.clone();
        let (read, write) = split(established);
        let shared = Arc::new(Shared {
            peer,
            state: Mutex::new(State { next_id: 1, ..State::default() }),
            wake_writer: Notify::new(),
            stuck: AtomicBool::new(false),
            lost_requests: AtomicBool::new(false),
            idle: AtomicBool::new(false),
            wake_observer: Notify::new(),
            news,
            tracer: config.tracer.clone(),
        });
        let reader = FrameReader::new(read, buffers, None, config.dead_after);
        let task = tokio::spawn(run(shared.clone(), reader, Sink::new(write))).abort_handle();
        Connection { handle: Arc::new(Handle { shared, task }) }
    }

    /// Whether a message of many packets arrives and comes back, within a time.
    pub(crate) async fn carries_large(&self, within: Duration) -> bool {
        let payload = vec![Bytes::from_static(&[0; MAX_PATH_TEST])];
        let test = Request::new(message_type::PATH_TEST, Bytes::new()).with_payload(payload).with_timeout(within);
        // An error of a service that does not know this request has shown one direction.
        self.call(test).await.is_ok()
    }

    /// Whether its requests do not reach the peer's host, as far as is known.
    pub(crate) fn is_stuck(&self) -> bool {
        self.handle.shared.stuck.load(Ordering::Acquire)
    }

    /// Whether it ended, not by our own wish, while requests waited.
    pub(crate) fn lost_requests(&self) -> bool {
        self.handle.shared.lost_requests.load(Ordering::Acquire)
    }

    /// Closes it, so that every waiting call gets this error and is sent again by whoever wants that.
    pub(crate) fn close_because(&self, reason: &str) {
        self.handle.task.abort();
        self.handle.shared.fail(self.handle.shared.lost(reason));
    }

    /// Sends a request and waits for its reply (which may be an error reply: see `Frame::is_error`).
    pub async fn call(&self, request: Request) -> Result<Frame, TransportError> {
        let Some(after) = request.timeout else { return self.call_untimed(request).await };
        let address = self.handle.shared.peer.address;
        tokio::time::timeout(after, self.call_untimed(request))
            .await
            .unwrap_or(Err(TransportError::CallTimeout { address, after }))
    }

    async fn call_untimed(&self, request: Request) -> Result<Frame, TransportError> {
        let shared = &*self.handle.shared;
        let mut header = Header {
            message_type: request.message_type,
            flags: request.flags & !0xffff,
            map_version: request.map_version,
            group_epoch: request.group_epoch,
            ..Header::default()
        };
        let followed = shared.tracer.as_ref().and_then(|tracer| Some((tracer, tracer.id()?, Instant::now())));
        if let Some(trace) = request.trace.or(followed.map(|(_, trace, _)| trace)) {
            header.flags |= flags::TRACED;
            header.log_position = trace;
        }
        let frame = OutFrame::new(header, request.body, request.payload)?;
        let (waiting, receiver) = shared.enqueue(frame)?;
        let reply = receiver.await.unwrap_or_else(|_| Err(shared.lost("connection closed")));
        if let Some((tracer, trace, began)) = followed {
            let (address, message_type, request) = (shared.peer.address, header.message_type, waiting.id);
            tracer.note(Exchange { trace, address, request, message_type, began, ended: Instant::now() });
        }
        // Whoever answered has removed the entry already.
        std::mem::forget(waiting);
        reply
    }

    /// Who is on the other side.
    pub fn peer(&self) -> &PeerInfo {
        &self.handle.shared.peer
    }

    /// Calls that wait for a reply.
    pub fn in_flight(&self) -> usize {
        self.handle.shared.state.lock().pending.len()
    }

    /// Why the connection is dead, if it is.
    pub fn dead(&self) -> Option<TransportError> {
        self.handle.shared.state.lock().dead.clone()
    }

    /// Closes it for all clones; every waiting call gets `Disconnected`.
    pub fn close(&self) {
        self.handle.close();
    }
}

impl Handle {
    fn close(&self) {
        self.task.abort();
        self.shared.fail(self.shared.lost("closed on this side"));
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("peer", self.peer()).finish_non_exhaustive()
    }
}

impl Shared {
    fn lost(&self, reason: impl ToString) -> TransportError {
        TransportError::Disconnected { address: self.peer.address, reason: reason.to_string() }
    }

    fn enqueue(&self, mut frame: OutFrame) -> Result<(Waiting<'_>, oneshot::Receiver<Answer>), TransportError> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(dead) = &state.dead {
            return Err(dead.clone());
        }
        let id = state.next_id;
        state.next_id += 1;
        frame.header.request_id = id;
        state.queue.push_back(Some(frame));
        state.pending.insert(id, sender);
        drop(state);
        self.wake_writer.notify_one();
        if self.idle.load(Ordering::Acquire) {
            self.wake_observer.notify_one();
        }
        Ok((Waiting { shared: self, id }, receiver))
    }

    fn has_pending(&self) -> bool {
        !self.state.lock().pending.is_empty()
    }

    /// The connection is over: everybody who waits learns why.
    fn fail(&self, error: TransportError) {
        let mut state = self.state.lock();
        let error = state.dead.get_or_insert(error).clone();
        let pending = std::mem::take(&mut state.pending);
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        self.news.notify_one();
        drop(queue);
        for sender in pending.into_values() {
            // The receiver may have been dropped meanwhile, which is a call given up.
            let _ = sender.send(Err(error.clone()));
        }
    }

    /// Moves queued requests to the sink; true if there were any.
    fn load(&self, sink: &mut Sink) -> bool {
        let mut state = self.state.lock();
        while !sink.is_full() {
            match state.queue.pop_front() {
                Some(Some(frame)) => sink.push(frame),
                Some(None) => {}
                None => break,
            }
        }
        !sink.is_empty()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        let given_up = state.pending.remove(&self.id);
        let first = state.next_id - state.queue.len() as u64;
        let queued = self.id.checked_sub(first).and_then(|at| state.queue.get_mut(at as usize)).and_then(Option::take);
        drop(state);
        drop((given_up, queued));
    }
}

async fn run(shared: Arc<Shared>, mut reader: FrameReader, mut sink: Sink) {
    let socket = reader.socket();
    let error = tokio::select! {
        biased;
        error = read_replies(&shared, &mut reader) => error,
        error = write_requests(&shared, &mut sink) => shared.lost(error),
        never = observe(&shared, &socket) => match never {},
    };
    shared.lost_requests.store(shared.has_pending(), Ordering::Release);
    shared.fail(error);
}

async fn write_requests(shared: &Shared, sink: &mut Sink) -> std::io::Error {
    loop {
        shared.wake_writer.notified().await;
        while shared.load(sink) {
            if let Err(error) = sink.flush().await {
                return error;
            }
        }
    }
}

/// Says when requests are stuck, and when they are not any more. Looks only while there are some.
async fn observe(shared: &Shared, socket: &TcpStream) -> Infallible {
    let mut observer = Observer::default();
    loop {
        shared.idle.store(true, Ordering::SeqCst);
        while !shared.has_pending() {
            shared.wake_observer.notified().await;
        }
        shared.idle.store(false, Ordering::SeqCst);
        tokio::time::sleep(LOOK).await;
        let stuck = observer.is_stuck(socket);
        if stuck && !shared.stuck.swap(stuck, Ordering::AcqRel) {
            shared.news.notify_one();
        } else {
            shared.stuck.store(stuck, Ordering::Release);
        }
    }
}

async fn read_replies(shared: &Shared, reader: &mut FrameReader) -> TransportError {
    loop {
        let frame = match reader.next().await {
            Ok(frame) => frame,
            Err(error) => return shared.lost(error),
        };
        if !frame.header.is_reply() {
            return shared.lost("it sent a request to a client");
        }
        let sender = shared.state.lock().pending.remove(&frame.header.request_id);
        if let Some(sender) = sender {
            // The receiver may have been dropped meanwhile, which is a call given up.
            let _ = sender.send(Ok(frame));
        }
    }
}

/// Ids count up and are our own, so a multiplication spreads them well enough.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
