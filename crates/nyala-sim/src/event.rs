// SPDX-License-Identifier: Apache-2.0

//! What happens when: a queue of events in virtual time (microseconds), and the messages among them.

use crate::disk::Tag;
use nyala_cluster::leader::Proposal;
use nyala_cluster::{Command, RegisterNode};
use nyala_replica::{Answer, Envelope, Job, Operation, Span};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::Heartbeat;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{MapVersion, NodeId, TargetId};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Somebody on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// The management service's leader.
    Mgmt,
    /// A storage server, by number.
    Node(usize),
    /// A client, by number.
    Client(usize),
}

/// Consecutive blocks of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Number of the first.
    pub first: u64,
    /// What they hold.
    pub tags: Vec<Tag>,
}

/// A message.
#[derive(Clone, Debug)]
// The docs of a variant name its fields.
#[allow(missing_docs)]
pub enum Msg {
    /// A service starts.
    Register(Box<RegisterNode>),
    /// A service is alive; `sent_ms` by its own clock comes back with the lease.
    Heartbeat { beat: Box<Heartbeat>, sent_ms: u64 },
    /// A process is dead: its kernel closes its connection, in order.
    Closed { connection: u64 },
    /// A server says that another one's host refuses connections.
    Refused(NodeId),
    /// Answer: a lease, or none.
    Lease { lease_ms: Option<u32>, version: MapVersion, sent_ms: u64 },
    /// Answer: another run of this server has registered since; that one has to stop.
    Superseded { incarnation: u64 },
    /// Wants the map.
    GetMap,
    /// The map.
    Map(Rc<ClusterMap>),
    /// That run is registered; with the map that says so.
    Registered(u64, Rc<ClusterMap>),
    /// A primary asks for a change of the cluster state.
    Propose(Command),
    /// Between members.
    Member { from: TargetId, envelope: Envelope, payload: Option<Blocks> },
    /// A client asks.
    Ask { client: usize, attempt: u64, seq: u64, lowest: u64, epoch: u32, operation: Asked },
    /// Answer.
    Answer { attempt: u64, answer: Answer, data: Option<Blocks> },
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Write these blocks; the span may go on to the end of the file.
    Write(ChunkFileId, Span, Blocks),
    /// Read.
    Read(ChunkFileId, Span),
    /// Everything acknowledged to disk.
    Sync,
}

impl Asked {
    /// As the member sees it.
    pub fn operation(&self, payload: nyala_replica::Ticket) -> Operation {
        match self {
            Asked::Write(file, span, _) => {
                Operation::Change(nyala_replica::Change { file: *file, span: *span }, payload)
            }
            Asked::Read(file, span) => Operation::Read(*file, *span),
            Asked::Sync => Operation::Sync,
        }
    }
}

/// Something that happens.
#[derive(Clone, Debug)]
// The docs of a variant name its fields.
#[allow(missing_docs)]
pub enum Event {
    /// A message arrives.
    Deliver { from: Endpoint, to: Endpoint, msg: Msg },
    /// A server's timer; `boot` names its run.
    NodeTick { node: usize, boot: u64 },
    /// A server's disk work ends.
    JobDone { node: usize, boot: u64, job: Job },
    /// A server has read what a client asks for, and not asked its member yet; `got` was there when it began.
    ReadAhead { node: usize, boot: u64, asked: Msg, got: Vec<Tag> },
    /// A server sees that another one's host refuses connections.
    Refused { node: usize, boot: u64, peer: usize },
    /// A server starts (again).
    Start { node: usize },
    /// A server's process dies and is back at once.
    Restart { node: usize },
    /// A client's timer.
    ClientTick { client: usize },
    /// The management leader's timer.
    MgmtTick { term: u64 },
    /// The management leader tries a connection to a service.
    Probe { term: u64, node: NodeId, incarnation: u64 },
    /// A proposal is decided.
    Commit { term: u64, command: Command, proposal: Proposal },
    /// A new management leader begins.
    MgmtLeads { term: u64 },
    /// The next fault.
    Fault,
}

/// An event with its place in the order.
struct Entry((u64, u64), Event);

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.0 == other.0
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.0.cmp(&self.0)
    }
}

/// Events by time, and in the order in which they were made within a time.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Entry>,
    made: u64,
}

impl Queue {
    /// Something will happen at `at_us`.
    pub fn push(&mut self, at_us: u64, event: Event) {
        self.made += 1;
        self.heap.push(Entry((at_us, self.made), event));
    }

    /// What happens next.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Entry((at_us, _), event)| (at_us, event))
    }
}
