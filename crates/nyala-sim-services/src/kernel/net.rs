// SPDX-License-Identifier: Apache-2.0

//! The network between machines: bytes of a connection arrive in order and later, or wait while their way is blocked.
//!
//! **Failure model.** A way is blocked in one direction or both: what is sent waits, as it would be sent again and again, and a connection that
//! carried nothing for its user timeout ends on both sides, each for itself. A machine without power answers
//! nothing; when it is back it answers that it knows of no such connection. Ways differ in delay, and one may become slow.

use super::fds::Object;
use super::process::MachineId;
use super::sched::Nanos;
use super::socket::{Socket, State};
use super::timers::Timer;
use super::{Kernel, clock};
use crate::random::Random;
use std::net::SocketAddrV4;

/// Least time between two machines.
const WAY: Nanos = 40_000;
/// What is not answered is sent again after this time.
const AGAIN: Nanos = 200 * clock::MILLI;
/// The same, of the wish to connect.
const CONNECT_AGAIN: Nanos = clock::SECOND;

/// What arrives at a socket.
#[derive(Debug)]
pub enum What {
    Connect(SocketAddrV4),
    Connected {
        by: usize,
    },
    Refused,
    Data(Vec<u8>),
    End,
    Reset,
    /// What was held may go on now.
    Retry,
    /// The user timeout of this socket may have passed.
    Check,
}

/// On its way from one socket to another. Of [`What::Connect`], `to` is the one that connects.
#[derive(Debug)]
pub struct Segment {
    pub from: usize,
    pub to: usize,
    pub what: What,
}

#[derive(Clone, Copy, Default)]
struct Way {
    blocked_since: Option<Nanos>,
    slow: Nanos,
}

pub struct Net {
    random: Random,
    /// By sender and receiver.
    ways: Vec<Vec<Way>>,
    pub next_port: u16,
}

impl Net {
    pub fn new(random: Random) -> Net {
        Net { random, ways: vec![vec![Way::default()]], next_port: 40_000 }
    }

    pub fn add_machine(&mut self) {
        self.ways.iter_mut().for_each(|row| row.push(Way::default()));
        self.ways.push(vec![Way::default(); self.ways.len() + 1]);
    }

    fn delay(&mut self, from: MachineId, to: MachineId) -> Nanos {
        if from == to {
            return WAY / 4 + self.random.below(WAY / 4);
        }
        let usual = WAY + self.random.below(4 * WAY);
        let rare = if self.random.one_in(200) { self.random.below(50 * clock::MILLI) } else { 0 };
        let slow = self.ways[from][to].slow;
        usual + rare + slow / 2 + self.random.below(slow)
    }

    fn blocked_since(&self, from: MachineId, to: MachineId) -> Option<Nanos> {
        self.ways[from][to].blocked_since
    }
}

/// Blocks or frees the way from one machine to another.
pub fn block(from: MachineId, to: MachineId, blocked: bool) {
    super::with(|kernel| {
        kernel.trace.event("block", &[from as u64, to as u64, blocked.into()]);
        let now = kernel.sched.now;
        let way = &mut kernel.net.ways[from][to];
        match blocked {
            true => way.blocked_since = way.blocked_since.or(Some(now)),
            false => way.blocked_since = None,
        }
        if blocked {
            kernel.check_between(from, to);
        }
    });
}

/// Makes the way from one machine to another slower by about so much.
pub fn slow(from: MachineId, to: MachineId, by: Nanos) {
    super::with(|kernel| {
        kernel.trace.event("slow", &[from as u64, to as u64, by]);
        kernel.net.ways[from][to].slow = by;
    });
}

/// Breaks an open connection, if there is one: both sides are told.
pub fn break_one(random: &mut Random) {
    super::with(|kernel| {
        let open = |(id, socket): (usize, &Socket)| (socket.state == State::Open).then_some(id);
        let open: Vec<usize> = kernel.sockets.iter().enumerate().filter_map(open).collect();
        if !open.is_empty() {
            let socket = *random.pick(&open);
            kernel.trace.event("break", &[socket as u64]);
            let other = kernel.sockets[socket].other;
            [Some(socket), other].into_iter().flatten().for_each(|end| kernel.break_socket(end, libc::ECONNRESET));
        }
    });
}

impl Kernel {
    /// Sends a segment, behind those that were sent to the same socket before.
    pub fn send(&mut self, from: usize, to: usize, what: What) {
        let (here, there) = (self.sockets[from].machine, self.sockets[to].machine);
        let at = self.sched.now + self.net.delay(here, there);
        let last = &mut self.sockets[to].last_arrival;
        *last = at.max(*last + 1);
        let at = *last;
        self.sched.set_timer(at, Timer::Arrival(Segment { from, to, what }));
    }

    /// Asks for a connection.
    pub fn send_connect(&mut self, from: usize, to: SocketAddrV4) {
        let here = self.sockets[from].machine;
        let there = super::process::machine_of(*to.ip()).unwrap_or(here);
        let at = self.sched.now + self.net.delay(here, there);
        self.sched.set_timer(at, Timer::Arrival(Segment { from, to: from, what: What::Connect(to) }));
    }

    fn later(&mut self, after: Nanos, segment: Segment) {
        let at = self.sched.now + after;
        self.sched.set_timer(at, Timer::Arrival(segment));
    }

    fn is_blocked(&self, from: MachineId, to: MachineId) -> bool {
        self.net.blocked_since(from, to).is_some() || self.machines[to].down_since.is_some()
    }

    /// A timer of the network has come.
    pub fn arrives(&mut self, segment: Segment) {
        let Segment { from, to, what } = segment;
        let (here, there) = (self.sockets[from].machine, self.sockets[to].machine);
        match what {
            What::Connect(address) => self.connect_arrives(from, address),
            What::Check => self.check(to),
            What::Retry => self.retry(from, to),
            What::Reset if self.is_blocked(here, there) => {}
            what => {
                let held = !self.sockets[to].held.is_empty();
                if held || self.is_blocked(here, there) {
                    self.sockets[to].held.push_back(what);
                    if !held {
                        self.later(AGAIN, Segment { from, to, what: What::Retry });
                    }
                } else {
                    self.deliver(from, to, what);
                }
            }
        }
    }

    fn retry(&mut self, from: usize, to: usize) {
        if self.is_blocked(self.sockets[from].machine, self.sockets[to].machine) {
            // Nobody waits for what a socket would get that has given up.
            match self.sockets[to].state {
                State::Open | State::Connecting => self.later(AGAIN, Segment { from, to, what: What::Retry }),
                _ => self.sockets[to].held.clear(),
            }
            return;
        }
        while let Some(what) = self.sockets[to].held.pop_front() {
            self.deliver(from, to, what);
        }
    }

    fn connect_arrives(&mut self, from: usize, address: SocketAddrV4) {
        if self.sockets[from].state != State::Connecting {
            return;
        }
        let here = self.sockets[from].machine;
        let Some(there) = super::process::machine_of(*address.ip()).filter(|there| *there < self.machines.len()) else {
            return self.break_socket(from, libc::ENETUNREACH);
        };
        if self.is_blocked(here, there) {
            self.later(CONNECT_AGAIN, Segment { from, to: from, what: What::Connect(address) });
            return;
        }
        match self.accepting(there, address.port()) {
            Some(listener) => {
                let by = self.add_accepted(listener, from, address);
                self.send(by, from, What::Connected { by });
                self.notify(Object::Socket(listener), libc::EPOLLIN as u32);
            }
            None => {
                let delay = self.net.delay(there, here);
                // Without a socket of its own to answer from, the answer is that of the one that asked.
                self.later(delay, Segment { from, to: from, what: What::Refused });
            }
        }
    }

    fn deliver(&mut self, from: usize, to: usize, what: What) {
        let state = self.sockets[to].state;
        match (what, state) {
            (What::Connected { by }, State::Connecting) => {
                let socket = &mut self.sockets[to];
                (socket.state, socket.other) = (State::Open, Some(by));
                self.notify(Object::Socket(to), libc::EPOLLOUT as u32);
            }
            (What::Refused, State::Connecting) => self.break_socket(to, libc::ECONNREFUSED),
            (What::Data(bytes), State::Open) => {
                self.sockets[to].received.extend(bytes);
                self.notify(Object::Socket(to), libc::EPOLLIN as u32);
            }
            (What::End, State::Open) => {
                self.sockets[to].ended = true;
                self.notify(Object::Socket(to), (libc::EPOLLIN | libc::EPOLLRDHUP) as u32);
            }
            (What::Reset, State::Open | State::Connecting) => self.break_socket(to, libc::ECONNRESET),
            (What::Connected { .. } | What::Data(_), _) => self.send(to, from, What::Reset),
            _ => {}
        }
    }

    /// Both ends of all connections between two machines may reach their user timeout.
    fn check_between(&mut self, one: MachineId, two: MachineId) {
        for id in 0..self.sockets.len() {
            let socket = &self.sockets[id];
            let other = socket.other.map(|other| self.sockets[other].machine);
            if socket.state == State::Open && [(one, Some(two)), (two, Some(one))].contains(&(socket.machine, other)) {
                let user_timeout = socket.user_timeout;
                self.later(user_timeout, Segment { from: id, to: id, what: What::Check });
            }
        }
    }

    /// Ends a connection that has carried nothing for too long.
    fn check(&mut self, id: usize) {
        let socket = &self.sockets[id];
        let Some(other) = socket.other.filter(|_| socket.state == State::Open) else { return };
        let (here, there) = (socket.machine, self.sockets[other].machine);
        let ways = [self.net.blocked_since(here, there), self.net.blocked_since(there, here)];
        let since = ways.into_iter().chain([self.machines[there].down_since]).flatten().min();
        match since {
            Some(since) if since + socket.user_timeout <= self.sched.now => self.break_socket(id, libc::ETIMEDOUT),
            Some(since) => {
                let left = since + socket.user_timeout - self.sched.now;
                self.later(left, Segment { from: id, to: id, what: What::Check });
            }
            None if matches!(self.sockets[other].state, State::Gone | State::Broken | State::Closed) => {
                self.break_socket(id, libc::ECONNRESET);
            }
            None => {}
        }
    }

    /// The machine of these sockets lost power.
    pub fn sockets_vanish(&mut self, machine: MachineId) {
        for id in 0..self.sockets.len() {
            if self.sockets[id].machine != machine || matches!(self.sockets[id].state, State::Closed) {
                continue;
            }
            self.sockets[id].state = State::Gone;
            if let Some(other) = self.sockets[id].other.filter(|other| self.sockets[*other].state == State::Open) {
                let user_timeout = self.sockets[other].user_timeout;
                self.later(user_timeout, Segment { from: other, to: other, what: What::Check });
            }
        }
    }
}
