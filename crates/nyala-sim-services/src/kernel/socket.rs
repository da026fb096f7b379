// SPDX-License-Identifier: Apache-2.0

//! TCP sockets: those that listen, and the ends of connections. Only non-blocking ones, as tokio uses them.

use super::fds::Object;
use super::net::What;
use super::process::{MachineId, address};
use super::sched::{Nanos, me};
use super::{Kernel, clock};
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// Bytes that are on their way to the other end or lie there unread.
const WINDOW: usize = 256 << 10;
/// TCP_USER_TIMEOUT of sockets that do not set one.
const DEFAULT_USER_TIMEOUT: Nanos = 20 * clock::SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    Listening,
    Connecting,
    Open,
    /// Over, by an error.
    Broken,
    /// The process has closed it.
    Closed,
    /// Its machine lost power.
    Gone,
}

pub struct Socket {
    pub machine: MachineId,
    pub state: State,
    pub local: SocketAddrV4,
    pub remote: Option<SocketAddrV4>,
    pub other: Option<usize>,
    /// Connections to be accepted.
    pub queue: VecDeque<usize>,
    pub received: VecDeque<u8>,
    /// The other end sends nothing more.
    pub ended: bool,
    /// This end sends nothing more.
    pub finished: bool,
    /// To be told once.
    pub error: Option<i32>,
    /// Of this end, not yet read by the other one.
    unread: usize,
    /// How long it carries nothing before it breaks.
    pub user_timeout: Nanos,
    /// The latest of what is on its way here.
    pub last_arrival: Nanos,
    /// Waits because the way here is blocked.
    pub held: VecDeque<What>,
}

impl Socket {
    /// What epoll says of it.
    pub fn readiness(&self, _kernel: &Kernel) -> u32 {
        let bits = match self.state {
            State::New => libc::EPOLLOUT | libc::EPOLLHUP,
            State::Listening => flag(!self.queue.is_empty(), libc::EPOLLIN),
            State::Connecting => 0,
            State::Open => {
                flag(self.ended || !self.received.is_empty(), libc::EPOLLIN)
                    | flag(self.unread < WINDOW || self.finished, libc::EPOLLOUT)
                    | flag(self.ended, libc::EPOLLRDHUP)
                    | flag(self.ended && self.finished, libc::EPOLLHUP)
            }
            State::Broken | State::Closed | State::Gone => {
                libc::EPOLLIN
                    | libc::EPOLLOUT
                    | libc::EPOLLRDHUP
                    | libc::EPOLLHUP
                    | flag(self.error.is_some(), libc::EPOLLERR)
            }
        };
        bits as u32
    }
}

fn flag(holds: bool, bit: i32) -> i32 {
    if holds { bit } else { 0 }
}

impl Kernel {
    /// A new socket of the process that asks.
    pub fn new_socket(&mut self) -> usize {
        let machine = self.processes[self.sched.threads[me()].process].machine;
        self.add_socket(machine)
    }

    fn add_socket(&mut self, machine: MachineId) -> usize {
        self.sockets.push(Socket {
            machine,
            state: State::New,
            local: SocketAddrV4::new(address(machine), 0),
            remote: None,
            other: None,
            queue: VecDeque::new(),
            received: VecDeque::new(),
            ended: false,
            finished: false,
            error: None,
            unread: 0,
            user_timeout: DEFAULT_USER_TIMEOUT,
            last_arrival: 0,
            held: VecDeque::new(),
        });
        self.sockets.len() - 1
    }

    fn free_port(&mut self) -> u16 {
        self.net.next_port = self.net.next_port.checked_add(1).unwrap_or(40_000);
        self.net.next_port
    }

    /// Gives a socket its address.
    pub fn bind(&mut self, id: usize, mut to: SocketAddrV4) -> Result<(), i32> {
        let machine = self.sockets[id].machine;
        if to.port() == 0 {
            to.set_port(self.free_port());
        }
        let taken = self.sockets.iter().any(|socket| {
            socket.machine == machine && socket.state == State::Listening && socket.local.port() == to.port()
        });
        if taken {
            return Err(libc::EADDRINUSE);
        }
        if to.ip().is_unspecified() {
            to.set_ip(address(machine));
        }
        self.sockets[id].local = to;
        Ok(())
    }

    /// The socket that takes connections to a port of a machine.
    pub fn accepting(&self, machine: MachineId, port: u16) -> Option<usize> {
        self.sockets.iter().position(|socket| {
            socket.machine == machine && socket.state == State::Listening && socket.local.port() == port
        })
    }

    /// The near end of a connection that has come to `listener` from the socket `from`.
    pub fn add_accepted(&mut self, listener: usize, from: usize, local: SocketAddrV4) -> usize {
        let id = self.add_socket(self.sockets[listener].machine);
        let remote = self.sockets[from].local;
        let socket = &mut self.sockets[id];
        (socket.state, socket.local, socket.remote, socket.other) = (State::Open, local, Some(remote), Some(from));
        self.sockets[listener].queue.push_back(id);
        id
    }

    /// Begins to connect.
    pub fn connect(&mut self, id: usize, to: SocketAddrV4) -> Result<(), i32> {
        if self.sockets[id].state != State::New {
            return Err(libc::EISCONN);
        }
        if self.sockets[id].local.port() == 0 {
            let port = self.free_port();
            self.sockets[id].local.set_port(port);
        }
        (self.sockets[id].state, self.sockets[id].remote) = (State::Connecting, Some(to));
        self.send_connect(id, to);
        Err(libc::EINPROGRESS)
    }

    /// Takes bytes that have come. 0: there are no more.
    pub fn receive(&mut self, id: usize, into: &mut [u8], peek: bool) -> Result<usize, i32> {
        let socket = &mut self.sockets[id];
        if !socket.received.is_empty() {
            let n = into.len().min(socket.received.len());
            let (first, second) = socket.received.as_slices();
            let from_first = n.min(first.len());
            into[..from_first].copy_from_slice(&first[..from_first]);
            into[from_first..n].copy_from_slice(&second[..n - from_first]);
            if !peek {
                socket.received.drain(..n);
                self.was_read(id, n);
            }
            return Ok(n);
        }
        match socket.error.take() {
            Some(error) => Err(error),
            None if socket.ended || socket.state == State::Broken => Ok(0),
            None if socket.state == State::Open => Err(libc::EAGAIN),
            None => Err(libc::ENOTCONN),
        }
    }

    fn was_read(&mut self, id: usize, bytes: usize) {
        let Some(other) = self.sockets[id].other else { return };
        let sender = &mut self.sockets[other];
        let was_full = sender.unread >= WINDOW;
        sender.unread = sender.unread.saturating_sub(bytes);
        if was_full && sender.unread < WINDOW && sender.state == State::Open {
            self.notify(Object::Socket(other), libc::EPOLLOUT as u32);
        }
    }

    /// Sends some of the pieces; how many of their bytes.
    pub fn transmit(&mut self, id: usize, pieces: &[&[u8]]) -> Result<usize, i32> {
        let socket = &mut self.sockets[id];
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        match (socket.state, socket.other) {
            (State::Open, Some(other)) if !socket.finished => {
                let room = WINDOW.saturating_sub(socket.unread);
                let mut bytes: Vec<u8> = pieces.concat();
                bytes.truncate(room);
                let taken = bytes.len();
                if taken == 0 && pieces.iter().any(|piece| !piece.is_empty()) {
                    return Err(libc::EAGAIN);
                }
                socket.unread += taken;
                self.trace.bytes(&bytes);
                if taken > 0 {
                    self.send(id, other, What::Data(bytes));
                }
                Ok(taken)
            }
            (State::New | State::Connecting | State::Listening, _) => Err(libc::ENOTCONN),
            _ => Err(libc::EPIPE),
        }
    }

    /// Sends nothing more.
    pub fn finish(&mut self, id: usize) -> Result<(), i32> {
        let socket = &mut self.sockets[id];
        let (State::Open, Some(other)) = (socket.state, socket.other) else { return Err(libc::ENOTCONN) };
        if !socket.finished {
            socket.finished = true;
            self.send(id, other, What::End);
        }
        Ok(())
    }

    /// The connection is over for this end.
    pub fn break_socket(&mut self, id: usize, error: i32) {
        let socket = &mut self.sockets[id];
        if matches!(socket.state, State::Open | State::Connecting) {
            (socket.state, socket.error) = (State::Broken, Some(error));
            let bits = self.sockets[id].readiness(self);
            self.notify(Object::Socket(id), bits);
        }
    }

    /// Nobody has it open any more.
    pub fn close_socket(&mut self, id: usize) {
        let socket = &mut self.sockets[id];
        let (state, waiting) = (socket.state, std::mem::take(&mut socket.queue));
        if state == State::Gone {
            return;
        }
        socket.state = State::Closed;
        let unread = !socket.received.is_empty();
        if let (State::Open, Some(other)) = (state, socket.other) {
            match (unread, socket.finished) {
                (true, _) => self.send(id, other, What::Reset),
                (false, false) => self.send(id, other, What::End),
                (false, true) => {}
            }
        }
        for waiting in waiting {
            if let Some(other) = self.sockets[waiting].other {
                self.sockets[waiting].state = State::Closed;
                self.send(waiting, other, What::Reset);
            }
        }
    }
}
