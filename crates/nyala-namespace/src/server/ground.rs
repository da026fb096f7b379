// SPDX-License-Identifier: Apache-2.0

//! What an operation runs on: the tables, the transactions' locks, the cluster as it is, and entropy.

use super::io::Tables;
use crate::change::Change;
use crate::locks::Locks;
use crate::ns::Env;
use nyala_cluster::placement::PlacementTable;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{Caller as User, MetaOp, MetaRequest, Owner, Want};
use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, SessionId, Slot, SplitMix64, TargetId, Time};
use std::sync::Arc;

/// On whose behalf something is done.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The session, 0 for the server itself.
    pub session: SessionId,
    /// See [`Env::implicit_open`].
    pub implicit_open: bool,
    /// Owner of what is made.
    pub owner: Owner,
    /// See [`Env::user`].
    pub user: Option<&'a User>,
    /// What is asked for besides.
    pub want: Want,
    /// Time stamp of what changes.
    pub now: Time,
}

impl<'a> Caller<'a> {
    /// The server itself, at this time.
    pub fn server(now: Time) -> Caller<'a> {
        Caller {
            session: SessionId(0),
            implicit_open: false,
            owner: Owner::default(),
            user: None,
            want: Want::NOTHING,
            now,
        }
    }

    /// The client of a request.
    pub fn of(request: &'a MetaRequest) -> Caller<'a> {
        let implicit_open = request.want.has(Want::IMPLICIT_OPEN);
        Caller {
            session: request.session,
            implicit_open,
            owner: request.owner,
            user: request.caller.as_deref(),
            want: request.want,
            now: request.now,
        }
    }

    /// The client of a request that is done as a transaction.
    pub fn of_transaction(request: &'a MetaRequest) -> Caller<'a> {
        Caller { implicit_open: false, ..Caller::of(request) }
    }
}

/// See the module's words.
pub struct Ground {
    /// The metadata target that is served.
    pub me: TargetId,
    /// The tables.
    pub tables: Box<dyn Tables>,
    /// Locks of transactions and truncations.
    pub locks: Locks,
    /// A directory with more entries is split; 0: none is.
    pub split_above: u64,
    map: Arc<ClusterMap>,
    placement: PlacementTable,
    random: SplitMix64,
}

impl Ground {
    /// With no locks yet. `seed`: entropy.
    pub fn new(me: TargetId, tables: Box<dyn Tables>, map: Arc<ClusterMap>, seed: u64) -> Ground {
        let placement = PlacementTable::new(&map);
        Ground { me, tables, locks: Locks::default(), split_above: 0, map, placement, random: SplitMix64::new(seed) }
    }

    /// That splits directories with more than so many entries.
    pub fn splitting_above(self, split_above: u64) -> Ground {
        Ground { split_above, ..self }
    }

    /// The cluster map.
    pub fn map(&self) -> &Arc<ClusterMap> {
        &self.map
    }

    /// The cluster is this one from now on.
    pub fn set_map(&mut self, map: Arc<ClusterMap>) {
        if map.version != self.map.version {
            self.placement = PlacementTable::new(&map);
        }
        self.map = map;
    }

    /// Whether a slot is served here.
    pub fn is_here(&self, slot: Slot) -> bool {
        self.map.slot_target(slot) == Some(self.me)
    }

    /// Whether a slot is served here, and may be used now.
    pub fn is_usable(&self, slot: Slot) -> bool {
        self.is_here(slot) && !self.locks.is_sealed(slot)
    }

    /// The directories of this server that an operation names.
    pub fn dirs_here(&self, op: &MetaOp) -> Vec<InodeId> {
        let to = if let MetaOp::Rename(rename) = op { Some(rename.to_parent) } else { None };
        op.routing_inode().into_iter().chain(to).filter(|dir| self.is_here(dir.slot())).collect()
    }

    /// A random number.
    pub fn random(&mut self) -> u64 {
        self.random.bits()
    }

    /// Runs `logic` on the tables as they are, as an operation or for a transaction.
    #[inline]
    pub fn run<T>(&mut self, caller: &Caller, tx: Option<TxId>, logic: impl FnOnce(Change<'_>, &Env<'_>) -> T) -> T {
        let random = self.random();
        let env = Env {
            me: self.me,
            map: &self.map,
            placement: &self.placement,
            session: caller.session,
            implicit_open: caller.implicit_open,
            owner: caller.owner,
            user: caller.user,
            want: caller.want,
            now: caller.now,
            random,
        };
        logic(Change::new(&*self.tables, &self.locks, tx), &env)
    }

    /// The same for a look of the server's own.
    pub fn look<T>(&mut self, tx: Option<TxId>, logic: impl FnOnce(Change<'_>) -> T) -> T {
        self.run(&Caller::server(Time::default()), tx, |change, _| logic(change))
    }
}
