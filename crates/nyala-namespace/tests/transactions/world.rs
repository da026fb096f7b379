// SPDX-License-Identifier: Apache-2.0

//! Three metadata servers, clients, and a network that loses, repeats and reorders. Everything comes from one seed.

use crate::node::Node;
use crate::unsynced::{Mark, Phase, Unsynced};
use nyala_cluster::{ClusterError, ClusterState, Command};
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::{DirPart, EntryRecord, FilePart, InodeRecord, SessionRecord};
use nyala_namespace::view::View;
use nyala_wire::fragments::Fragment;
use nyala_wire::map::*;
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::mgmt::SlotStep;
use nyala_wire::*;
use std::collections::BTreeMap;

pub const SERVERS: u16 = 3;
pub const CLIENTS: u64 = 4;

#[derive(Clone)]
pub enum Address {
    Client,
    Server(TargetId),
    Mgmt,
}

#[derive(Clone)]
pub enum Body {
    Request(MetaRequest),
    Answer(TargetId, SessionId, u64, Result<MetaReply, WireError>, Mark),
    Ask(TargetId, u64, TxRequest),
    Heard(u64, Result<TxReply, WireError>),
    Step(SlotStep),
}

#[derive(Clone)]
pub struct Message {
    pub to: Address,
    pub body: Body,
}

/// What a server needs from outside.
pub struct Cx<'a> {
    pub rng: &'a mut SplitMix64,
    out: &'a mut Vec<Message>,
}

impl Cx<'_> {
    pub fn send(&mut self, message: Message) {
        self.out.push(message);
    }
}

/// A client with a file of its own, a directory of its own, and at most one request under way.
pub struct Client {
    pub session: SessionId,
    pub file: (InodeId, Name),
    pub dir: Option<(InodeId, Name)>,
    sequences: BTreeMap<TargetId, u64>,
    pub request: Option<(TargetId, MetaRequest)>,
    /// What it wants done, whatever fragments the names are in.
    pub wish: Option<MetaOp>,
    /// What it knows of directories that are split.
    fragments: BTreeMap<InodeId, Vec<Fragment>>,
    /// What each server has acknowledged.
    told: BTreeMap<TargetId, Unsynced>,
    pub done: u64,
}

/// What goes wrong.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub lose: usize,
    pub repeat: usize,
    pub time_out: usize,
    pub crash: usize,
    pub power: bool,
    /// Slots are ordered to other servers.
    pub moves: usize,
    /// Directories with more entries are split; 0: none.
    pub split_above: u64,
}

pub struct World {
    pub rng: SplitMix64,
    /// What management knows, and the map of it.
    pub mgmt: ClusterState,
    pub map: ClusterMap,
    /// A map that some still go by.
    old_map: ClusterMap,
    /// The last range of inode numbers that was given out.
    range: u64,
    /// How often a slot changed hands.
    pub moved: u64,
    pub nodes: Vec<Node>,
    pub clients: Vec<Client>,
    /// Messages under way, each with the number of the process that it was sent to.
    pub messages: Vec<(Message, u64)>,
    pub faults: Faults,
    pub busy: bool,
    now: i64,
}

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

/// Directory `n` that exists from the start: 0 is the root, each of the others is on a server of its own.
pub fn base(n: u16) -> InodeId {
    if n == 0 { InodeId::ROOT } else { InodeId::new(Slot(n - 1), 2).unwrap() }
}

fn map() -> ClusterMap {
    let target = |id: u16, kind| Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind,
        node: NodeId(id.into()),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let mut targets: Vec<Target> = (1..=SERVERS).map(|id| target(id, TargetKind::Meta)).collect();
    targets.push(target(101, TargetKind::Storage));
    // Clients that have nothing to say live on.
    let settings = Settings { session_timeout_ms: u32::MAX, ..ClusterMap::default().settings };
    ClusterMap {
        version: MapVersion(1),
        settings,
        targets,
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: (1..=SERVERS).map(|id| SlotRange { first: Slot(id - 1), count: 1, target: TargetId(id) }).collect(),
        ..ClusterMap::default()
    }
}

fn record(kind: FileKind) -> InodeRecord {
    let zero = Time::default();
    let layout =
        Layout { pattern: Pattern::Raid0, chunk_bytes: 1 << 16, targets: vec![TargetId(101)], moves: 0, code: None };
    let file = (kind == FileKind::File).then_some(FilePart {
        layout,
        inline_version: Some(0),
        inline_limit: 4096,
        allocated: None,
        unnamed: None,
        tail: None,
    });
    let dir = (kind == FileKind::Directory).then_some(DirPart::new(InodeId::ROOT, None));
    let (perm, nlink) = (0o755, if dir.is_some() { 2 } else { 1 });
    InodeRecord {
        kind,
        perm,
        nlink,
        uid: 0,
        gid: 0,
        size: 0,
        atime: zero,
        mtime: zero,
        ctime: zero,
        btime: zero,
        rdev: None,
        dir,
        file,
        xattr_bytes: None,
    }
}

/// The tables of server `n` at the start: the root on server 0, a directory below it, a client's file in each.
fn tables(n: u16) -> Batch {
    let mut inodes: BTreeMap<InodeId, InodeRecord> = BTreeMap::new();
    let mut batch = Batch::new();
    let mut entry = |inodes: &mut BTreeMap<InodeId, InodeRecord>, dir: InodeId, text: &str, inode, kind| {
        let record = EntryRecord { name: name(text), inode, kind, followed: None };
        batch.put(keys::entry(dir, keys::cookie(dir, text.as_bytes())), codec::encode(&record));
        let parent = inodes.get_mut(&dir).unwrap();
        parent.nlink += u32::from(kind == FileKind::Directory);
        parent.dir.as_mut().unwrap().entries += 1;
    };
    if n == 0 {
        inodes.insert(InodeId::ROOT, record(FileKind::Directory));
        (1..=SERVERS)
            .for_each(|d| entry(&mut inodes, InodeId::ROOT, &format!("base{d}"), base(d), FileKind::Directory));
    }
    inodes.insert(base(n + 1), record(FileKind::Directory));
    for client in (0..CLIENTS).filter(|client| client % u64::from(SERVERS) == u64::from(n)) {
        let inode = InodeId::new(Slot(n), 10 + client).unwrap();
        inodes.insert(inode, record(FileKind::File));
        entry(&mut inodes, base(n + 1), &format!("own{client}"), inode, FileKind::File);
    }
    // Clients opened their sessions before.
    for client in 0..CLIENTS {
        let record = SessionRecord { client: format!("client {client}"), caches: Some(true), guest: None };
        batch.put(keys::session(SessionId(client + 1)), codec::encode(&record));
    }
    batch.put(keys::next_sequence(Slot(n)), 100_u64.to_le_bytes());
    batch.put(keys::inode_count(), (inodes.len() as u64).to_le_bytes());
    for (inode, record) in inodes {
        batch.put(keys::inode(inode), codec::encode(&record));
    }
    batch
}

impl World {
    pub fn new(seed: u64, faults: Faults) -> World {
        let map = map();
        let client = |n: u64| Client {
            session: SessionId(n + 1),
            file: (base((n % u64::from(SERVERS)) as u16 + 1), name(&format!("own{n}"))),
            dir: None,
            sequences: BTreeMap::new(),
            request: None,
            wish: None,
            fragments: BTreeMap::new(),
            told: (1..=SERVERS).map(|id| (TargetId(id), Unsynced::default())).collect(),
            done: 0,
        };
        let mut world = World {
            rng: SplitMix64::new(seed),
            nodes: (0..SERVERS)
                .map(|n| Node::new(TargetId(n + 1), tables(n), &map, u64::from(n) + 2, faults.split_above))
                .collect(),
            mgmt: ClusterState { cluster: ClusterId([1; 16]), slots: map.slots.clone(), ..ClusterState::default() },
            old_map: map.clone(),
            range: u64::from(SERVERS) + 1,
            moved: 0,
            map,
            clients: (0..CLIENTS).map(client).collect(),
            messages: Vec::new(),
            faults,
            busy: true,
            now: 0,
        };
        world.greet();
        world
    }

    /// All clients have said to all servers that nothing was lost before it all began.
    fn greet(&mut self) {
        for (n, id) in (0..usize::from(SERVERS)).zip(1..) {
            for client in 0..self.clients.len() {
                self.clients[client].told.get_mut(&TargetId(id)).unwrap().begin(self.nodes[n].boot);
                let run = Some(self.nodes[n].boot as u32);
                self.tell(client, n, MetaOp::Replay(Replay { changes: Vec::new(), last: true, open: Vec::new(), run }));
            }
            self.at(n, Node::sync);
            let boot = self.nodes[n].boot;
            for client in 0..self.clients.len() {
                self.tell(client, n, MetaOp::DelegationPoll { boot, kept: Vec::new(), moving: Vec::new() });
            }
            assert!(self.nodes[n].answers());
        }
        self.messages.clear();
    }

    fn tell(&mut self, client: usize, n: usize, op: MetaOp) {
        self.send_unnumbered(client, self.nodes[n].me, op);
        let (message, boot) = self.messages.pop().unwrap();
        self.arrive(message, boot);
    }

    fn at(&mut self, n: usize, f: impl FnOnce(&mut Node, &mut Cx)) {
        let World { rng, nodes, .. } = self;
        let mut out = Vec::new();
        let mut cx = Cx { rng, out: &mut out };
        if nodes[n].up {
            f(&mut nodes[n], &mut cx);
        }
        out.into_iter().for_each(|message| self.send(message));
    }

    fn send(&mut self, message: Message) {
        let boot = match message.to {
            Address::Client | Address::Mgmt => 0,
            Address::Server(target) => self.nodes[usize::from(target.0) - 1].boot,
        };
        self.messages.push((message, boot));
    }

    pub fn crash(&mut self, n: usize, power: bool) {
        let keep = power.then(|| self.rng.bits());
        self.nodes[n].crash(keep);
    }

    /// One thing happens.
    pub fn step(&mut self) {
        let n = self.rng.index(usize::from(SERVERS));
        let faults = self.faults;
        if !self.nodes[n].up {
            if self.rng.percent(20) {
                self.range += 1;
                if faults.split_above > 0 {
                    // With the higher limit those become whole that have a few entries.
                    self.nodes[n].split_above = if self.rng.percent(50) { faults.split_above } else { 40 };
                }
                self.nodes[n].restart(&self.map, self.range);
            }
        } else if faults.split_above > 0 && self.rng.index(2000) < 3 {
            self.crash(n, false);
        } else if self.rng.index(1000) < faults.crash {
            self.crash(n, faults.power);
        }
        if self.rng.index(1000) < faults.moves {
            self.operate();
        }
        match self.rng.index(100) {
            0..47 => self.deliver(),
            47..50 => {
                let map = self.map.clone();
                self.at(n, |node, cx| node.learn(cx, &map));
            }
            50..65 => self.at(n, |node, cx| node.flush(cx)),
            // Seldom where power fails, so that there is something to lose.
            65..75 if !faults.power || self.rng.percent(25) => self.at(n, |node, cx| node.sync(cx)),
            65..75 => {}
            75..80 => {
                if self.nodes[n].up && self.nodes[n].needs_range() {
                    self.range += 1;
                    self.nodes[n].go_on_with(self.range);
                }
                self.at(n, |node, cx| node.pass(cx));
            }
            80..85 if self.messages.is_empty() || self.rng.percent(faults.time_out as u64) => {
                self.at(n, |node, cx| node.time_out(cx))
            }
            _ => {
                let client = self.rng.index(self.clients.len());
                self.client(client);
            }
        }
    }

    /// Management does something; the map follows.
    fn order(&mut self, command: Command) -> Result<(), ClusterError> {
        let moves = u64::from(matches!(command, Command::CompleteMove { .. }));
        self.mgmt.apply(command)?;
        self.moved += moves;
        if self.rng.percent(50) {
            self.old_map = self.map.clone();
        }
        self.map.version = MapVersion(self.mgmt.version.0 + 1);
        self.map.slots.clone_from(&self.mgmt.slots);
        self.map.moves.clone_from(&self.mgmt.moves);
        self.map.emptied.clone_from(&self.mgmt.emptied);
        Ok(())
    }

    /// An operator has a slot move, or thinks better of it.
    fn operate(&mut self) {
        let slot = Slot(self.rng.index(usize::from(SERVERS)) as u16);
        let to = TargetId(self.rng.index(usize::from(SERVERS)) as u16 + 1);
        let command = match self.rng.percent(20) {
            true => Command::CancelMoves { slots: vec![slot] },
            false => Command::MoveSlots { slots: vec![slot], to },
        };
        // One that is on its way elsewhere stays so.
        let _ = self.order(command);
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let at = self.rng.index(self.messages.len());
        let (message, boot) = match self.rng.percent(self.faults.repeat as u64) {
            true => self.messages[at].clone(),
            false => self.messages.swap_remove(at),
        };
        if !self.rng.percent(self.faults.lose as u64) {
            self.arrive(message, boot);
        }
    }

    fn arrive(&mut self, Message { to, body }: Message, boot: u64) {
        let server = match to {
            Address::Server(target) => usize::from(target.0) - 1,
            Address::Client | Address::Mgmt => 0,
        };
        match body {
            Body::Request(request) => self.at(server, |node, cx| node.request(cx, request)),
            // A message does not outlive the process that it was sent to.
            Body::Ask(..) if self.nodes[server].boot != boot => {}
            Body::Ask(from, id, request) => self.at(server, |node, cx| node.asked(cx, from, id, request)),
            Body::Heard(id, answer) => self.at(server, |node, cx| node.heard(cx, id, answer)),
            Body::Step(step) => {
                // What is refused is of another attempt.
                let _ = self.order(match step {
                    SlotStep::Begin { slot, after, run } => Command::BeginMove { slot, after, run },
                    SlotStep::Complete { slot, attempt } => Command::CompleteMove { slot, attempt },
                });
            }
            Body::Answer(from, session, sequence, reply, mark) => self.answered((from, mark), session, sequence, reply),
        }
    }

    /// Sends the client's request (again), or a new one.
    fn client(&mut self, n: usize) {
        let target = TargetId(self.rng.index(usize::from(SERVERS)) as u16 + 1);
        let told = self.clients[n].told.get_mut(&target).unwrap();
        if told.phase != Phase::Known
            && self.rng.percent(told.how_often())
            && let Some(op) = told.next()
        {
            return self.send_unnumbered(n, target, op);
        }
        if self.rng.percent(5) && self.messages.len() < 20 {
            // So that it hears of another run.
            return self.send_unnumbered(n, target, MetaOp::StatFs);
        }
        if self.clients[n].request.is_none() {
            if !self.busy {
                return;
            }
            let op = self.choose(n);
            self.begin(n, op);
        }
        if let Some((target, request)) = self.clients[n].request.clone() {
            self.send(Message { to: Address::Server(target), body: Body::Request(request) });
        }
    }

    fn send_unnumbered(&mut self, n: usize, target: TargetId, op: MetaOp) {
        let (session, now, owner) = (self.clients[n].session, Time { seconds: self.now, nanos: 0 }, Owner::default());
        let request = MetaRequest {
            session,
            sequence: 0,
            acked_below: 0,
            owner,
            now,
            op,
            want: Want::NOTHING,
            caller: None,
            user: None,
        };
        self.send(Message { to: Address::Server(target), body: Body::Request(request) });
    }

    /// All clients and servers know each other's runs.
    pub fn is_settled(&self) -> bool {
        let knows = |client: &Client, node: &Node| client.told[&node.me].is_settled(node.boot);
        self.nodes.iter().all(|node| self.clients.iter().all(|client| knows(client, node)))
    }

    /// What clients know of servers, for a failing test.
    pub fn knowledge(&self) -> Vec<String> {
        let of = |client: &Client| {
            client
                .told
                .iter()
                .map(|(server, told)| format!("{server}: {}", told.describe()))
                .collect::<Vec<_>>()
                .join(", ")
        };
        self.clients.iter().map(of).chain(self.nodes.iter().map(|node| format!("boot {}", node.boot))).collect()
    }

    /// The directory with its fragments as they are now, wherever it is served.
    pub fn fragments(&self, dir: InodeId) -> Vec<Fragment> {
        let target = self.map.slot_target(dir.slot()).unwrap();
        let row = self.nodes[usize::from(target.0) - 1].tables.get(&keys::inode(dir)).unwrap();
        let record = row.map(|row| codec::decode::<InodeRecord>(&row).unwrap());
        record.and_then(|record| record.dir).map(|part| part.fragments().to_vec()).unwrap_or_default()
    }

    /// A client finds out where names are.
    fn learn_fragments(&mut self, n: usize) {
        let dirs: Vec<InodeId> = match &self.clients[n].wish {
            Some(MetaOp::Rename(rename)) => vec![rename.from_parent, rename.to_parent],
            Some(op) => vec![op.routing_inode().unwrap()],
            None => Vec::new(),
        };
        for dir in dirs {
            let now = self.fragments(dir);
            self.clients[n].fragments.insert(dir, now);
        }
    }

    fn route(&self, n: usize, mut op: MetaOp) -> MetaOp {
        let known = &self.clients[n].fragments;
        let holder = |dir: &mut InodeId, name: &Name| {
            let fragments = known.get(dir).map(|list| &list[..]).unwrap_or_default();
            *dir = nyala_wire::fragments::holder(*dir, fragments, keys::cookie(*dir, name.as_bytes()));
        };
        match &mut op {
            MetaOp::Mkdir { entry } | MetaOp::Mknod { entry, .. } => holder(&mut entry.parent, &entry.name),
            MetaOp::Unlink { parent, name } | MetaOp::Rmdir { parent, name } | MetaOp::Link { parent, name, .. } => {
                holder(parent, name)
            }
            MetaOp::Rename(rename) => {
                holder(&mut rename.from_parent, &rename.from_name);
                holder(&mut rename.to_parent, &rename.to_name);
            }
            _ => {}
        }
        op
    }

    /// What a client does about an answer that says how a directory is split; whether it is one.
    fn split(&mut self, n: usize, reply: &Result<MetaReply, WireError>) -> bool {
        let (request, wish) = (&self.clients[n].request.as_ref().unwrap().1, self.clients[n].wish.clone().unwrap());
        let merging = matches!(request.op, MetaOp::MergeDir(_));
        let elsewhere = request.op != wish;
        match reply {
            Ok(MetaReply::Done) if merging => self.begin(n, wish),
            Err(error) if merging && error.code == ErrorCode::NOT_EMPTY => return false,
            _ if merging => self.begin(n, wish),
            Err(error) if error.code == ErrorCode::OTHER_FRAGMENT => {
                self.learn_fragments(n);
                self.begin(n, wish);
            }
            // It may be the fragment that is not there any more.
            Err(error) if elsewhere && error.code == ErrorCode::NOT_FOUND => {
                let before = request.op.clone();
                self.learn_fragments(n);
                if self.route(n, wish.clone()) == before {
                    return false;
                }
                self.begin(n, wish);
            }
            Err(error) if error.code == ErrorCode::IS_SPLIT => match self.victim(&wish) {
                Some(dir) => {
                    let op = MetaOp::MergeDir(dir);
                    self.begin(n, op);
                    self.clients[n].wish = Some(wish);
                }
                None => self.begin(n, wish),
            },
            _ => return false,
        }
        true
    }

    /// The directory that an operation removes.
    fn victim(&self, op: &MetaOp) -> Option<InodeId> {
        let (dir, name) = match op {
            MetaOp::Rmdir { parent, name } => (*parent, name),
            MetaOp::Rename(rename) => (rename.to_parent, &rename.to_name),
            _ => return None,
        };
        let cookie = keys::cookie(dir, name.as_bytes());
        let holder = nyala_wire::fragments::holder(dir, &self.fragments(dir), cookie);
        let target = self.map.slot_target(holder.slot()).unwrap();
        let row = self.nodes[usize::from(target.0) - 1].tables.get(&keys::entry(holder, cookie)).unwrap()?;
        let entry: EntryRecord = codec::decode(&row).unwrap();
        (entry.kind == FileKind::Directory && entry.name == *name).then_some(entry.inode)
    }

    pub fn begin(&mut self, n: usize, op: MetaOp) {
        self.now += 1;
        self.clients[n].wish = Some(op.clone());
        let op = self.route(n, op);
        let map = if self.rng.percent(20) { &self.old_map } else { &self.map };
        let target = map.slot_target(op.routing_inode().unwrap().slot()).unwrap();
        let client = &mut self.clients[n];
        let sequence = client.sequences.entry(target).or_insert(0);
        *sequence += u64::from(op.is_change());
        let sequence = if op.is_change() { *sequence } else { 0 };
        let (sequence, now) = (sequence, Time { seconds: self.now, nanos: 0 });
        let (session, owner) = (client.session, Owner { uid: 1, gid: 1 });
        client.request = Some((
            target,
            MetaRequest {
                session,
                sequence,
                acked_below: sequence,
                owner,
                now,
                op,
                want: Want::NOTHING,
                caller: None,
                user: None,
            },
        ));
    }

    fn answered(
        &mut self,
        (from, mark): (TargetId, Mark),
        session: SessionId,
        sequence: u64,
        reply: Result<MetaReply, WireError>,
    ) {
        let client = &mut self.clients[session.0 as usize - 1];
        let told = client.told.get_mut(&from).unwrap();
        if !told.heard(mark, &reply) || told.phase == Phase::Say {
            return;
        }
        let same = |(to, request): &&(TargetId, MetaRequest)| *to == from && request.sequence == sequence;
        let Some((_, request)) = client.request.as_ref().filter(same) else {
            return;
        };
        if reply.as_ref().is_err_and(|error| error.code.is_transient()) {
            if reply.is_err_and(|error| error.code == ErrorCode::WRONG_SERVER) {
                // It was not done there, and is not done under this number any more.
                let n = session.0 as usize - 1;
                let wish = client.wish.clone().unwrap();
                self.begin(n, wish);
            }
            return;
        }
        // What is said about something else has no number either.
        let merging = matches!(request.op, MetaOp::MergeDir(_));
        let of_merging = |reply: &Result<MetaReply, WireError>| match reply {
            Ok(reply) => *reply == MetaReply::Done,
            Err(_) => true,
        };
        if merging && !of_merging(&reply) {
            return;
        }
        let n = session.0 as usize - 1;
        if self.split(n, &reply) {
            return;
        }
        let client = &mut self.clients[n];
        let told = client.told.get_mut(&from).unwrap();
        let (_, request) = client.request.as_ref().unwrap();
        let wish = client.wish.clone().unwrap();
        // What only this client touches can only succeed, once: a second time it would be refused.
        if let Ok(reply) = &reply
            && !merging
        {
            told.keep(mark, request, reply);
        }
        let expect = |what: &str| assert!(reply.is_ok(), "{what} of {session}: {reply:?}, {request:?}");
        match &wish {
            MetaOp::Rename(rename) if rename.from_name == client.file.1 => {
                expect("move");
                client.file = (rename.to_parent, rename.to_name.clone());
            }
            MetaOp::Mkdir { entry } if entry.name.as_bytes().starts_with(b"mine") => {
                expect("mkdir");
                client.dir = Some((entry.parent, entry.name.clone()));
            }
            MetaOp::Rmdir { name, .. } if name.as_bytes().starts_with(b"mine") => {
                // Others may have put something into it: it is left to them.
                let not_empty = reply.as_ref().is_err_and(|error| error.code == ErrorCode::NOT_EMPTY);
                if !not_empty {
                    expect("rmdir");
                }
                client.dir = None;
            }
            _ => {}
        }
        client.request = None;
        client.done += 1;
    }
}
