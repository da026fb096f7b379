// SPDX-License-Identifier: Apache-2.0

//! A metadata server's logic without the server: one metadata target that has all slots, four storage targets.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod model;

use nyala_cluster::placement::PlacementTable;
use nyala_kv::Batch;
use nyala_namespace::change::{Change, Fault, NameHash};
use nyala_namespace::locks::Locks;
use nyala_namespace::ns::{self, Env};
use nyala_namespace::tx::coordinator::{Ask, Coordinator, Heard};
use nyala_namespace::tx::{Plan, parts};
use nyala_namespace::view::{MemView, View};
use nyala_wire::map::*;
use nyala_wire::meta::{Caller, MetaOp, MetaReply, NewEntry, Owner, Want};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::*;

pub const ME: TargetId = TargetId(1);

fn target(id: u16, kind: TargetKind, node: u32) -> Target {
    Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    }
}

pub fn map() -> ClusterMap {
    let mut targets = vec![target(1, TargetKind::Meta, 1)];
    targets.extend((101..105).map(|id| target(id, TargetKind::Storage, 2)));
    ClusterMap {
        version: MapVersion(1),
        targets,
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: vec![SlotRange { first: Slot(0), count: 64, target: ME }],
        ..ClusterMap::default()
    }
}

/// The logic, ready to run operations.
pub struct Logic {
    /// Who has to be allowed to do what is done; absent: everything is allowed.
    pub user: Option<Caller>,
    pub map: ClusterMap,
    placement: PlacementTable,
    locks: Locks,
    clock: i64,
    /// Gives names their cookies.
    pub hash: NameHash,
}

impl Logic {
    pub fn new() -> Logic {
        let map = map();
        Logic {
            user: None,
            placement: PlacementTable::new(&map),
            map,
            locks: Locks::default(),
            clock: 1_000_000,
            hash: nyala_namespace::keys::cookie,
        }
    }

    /// The cluster is another one from now on.
    pub fn set_map(&mut self, map: ClusterMap) {
        self.placement = PlacementTable::new(&map);
        self.map = map;
    }

    /// Runs one operation on the tables: its reply and the batch that does it.
    pub fn run(&mut self, view: &dyn View, session: u64, op: &MetaOp) -> Result<(MetaReply, Batch), WireError> {
        self.clock += 1;
        let env = Env {
            me: ME,
            map: &self.map,
            placement: &self.placement,
            session: SessionId(session),
            implicit_open: false,
            owner: self
                .user
                .as_ref()
                .map_or(Owner { uid: 1000, gid: 100 }, |user| Owner { uid: user.uid, gid: user.gid }),
            user: self.user.as_ref(),
            want: Want::NOTHING,
            now: Time { seconds: self.clock, nanos: 7 },
            random: self.clock as u64 * 0x9e37_79b9,
        };
        let mut change = Change::new(view, &self.locks, None).with_hash(self.hash);
        match ns::run(&mut change, &env, op) {
            Ok(reply) => Ok((reply, change.finish())),
            Err(Fault::Refused(error)) => Err(error),
            Err(Fault::Elsewhere(plan)) => match *plan {
                Plan::Rename(_) | Plan::Common { .. } => self.transaction(view, &env, *plan),
                other => panic!("with one server nothing is elsewhere: {other:?}"),
            },
            Err(Fault::Blocked) => panic!("nobody holds a lock"),
        }
    }

    /// What the coordinator does for a directory that moves, when all of it is on one server.
    fn transaction(&self, view: &dyn View, env: &Env, plan: Plan) -> Result<(MetaReply, Batch), WireError> {
        let refused = |fault| match fault {
            Fault::Refused(error) => error,
            other => panic!("{other:?}"),
        };
        let mut coordinator = Coordinator::new(plan);
        loop {
            let mut change = Change::new(view, &self.locks, None).with_hash(self.hash);
            match coordinator.step(&mut change, env, Heard::Ready).map_err(refused)? {
                Ask::Lock(_) => {}
                Ask::Decide { here, reply } => {
                    for part in &here {
                        let result = parts::check(&mut change, part, env.now).map_err(refused)?;
                        parts::perform(&mut change, part, &result, env.now).map_err(refused)?;
                    }
                    return Ok((reply, change.finish()));
                }
                other => panic!("with one server nobody is asked: {other:?}"),
            }
        }
    }
}

/// The logic with tables of its own.
pub struct Server {
    pub logic: Logic,
    pub view: MemView,
}

impl Server {
    /// Does parts of a transaction, one after the other; the result of the last one.
    pub fn parts(&mut self, list: &[TxPart]) -> Result<PartResult, Fault> {
        let locks = Locks::default();
        let mut change = Change::new(&self.view, &locks, None);
        let now = Time::default();
        let mut last = PartResult::Ready;
        for part in list {
            last = parts::check(&mut change, part, now)?;
            parts::perform(&mut change, part, &last, now)?;
        }
        let batch = change.finish();
        self.view.apply(&batch);
        Ok(last)
    }

    pub fn new() -> Server {
        let mut view = MemView::default();
        view.apply(&new_tables());
        Server { logic: Logic::new(), view }
    }

    pub fn run(&mut self, op: MetaOp) -> Result<MetaReply, WireError> {
        let (reply, batch) = self.logic.run(&self.view, 1, &op)?;
        self.view.apply(&batch);
        Ok(reply)
    }

    /// A new file in the root.
    pub fn file(&mut self, text: &str) -> InodeId {
        match self.run(MetaOp::Mknod { entry: entry(text), kind: FileKind::File, rdev: 0, pattern: None }) {
            Ok(MetaReply::Entry(entry)) => entry.inode,
            other => panic!("{other:?}"),
        }
    }

    pub fn set_xattr(&mut self, inode: InodeId, name: &[u8], value: Vec<u8>) -> Result<MetaReply, WireError> {
        let name = name.to_vec().into();
        self.run(MetaOp::SetXattr { inode, name, value: value.into(), create: false, replace: false, kill_sgid: false })
    }
}

/// Something new in the root.
pub fn entry(text: &str) -> NewEntry {
    NewEntry { parent: InodeId::ROOT, name: Name::new(text.as_bytes()).unwrap(), perm: 0o644, umask: 0 }
}

/// The tables of a new cluster: the root directory.
pub fn new_tables() -> Batch {
    use nyala_namespace::keys;
    use nyala_namespace::records::{DirPart, InodeRecord};
    let zero = Time::default();
    let root = InodeRecord {
        kind: FileKind::Directory,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        size: 0,
        atime: zero,
        mtime: zero,
        ctime: zero,
        btime: zero,
        rdev: None,
        dir: Some(DirPart::new(InodeId::ROOT, None)),
        file: None,
        xattr_bytes: None,
    };
    let mut batch = Batch::new();
    batch.put(keys::inode(InodeId::ROOT), codec::encode(&root));
    batch.put(keys::inode_count(), 1_u64.to_le_bytes());
    batch
}
