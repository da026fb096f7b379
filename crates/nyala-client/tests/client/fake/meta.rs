// SPDX-License-Identifier: Apache-2.0

//! The cluster's metadata servers as tests see them: what is in their tables, and accidents that befall them.

use super::machines::{Command, Machine, Machines, Replied};
use super::{Cluster, META_TARGETS};
use nyala_namespace::keys;
use nyala_namespace::ns::lock;
use nyala_namespace::records::InodeRecord;
use nyala_namespace::view::View;
use nyala_wire::codec::decode;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{LockKind, MetaRequest};
use nyala_wire::{InodeId, TargetId};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The way to the thread that owns the servers.
#[derive(Clone)]
pub struct Metas(pub mpsc::Sender<Command>);

impl Metas {
    pub fn tell(&self, command: Command) {
        // why ignored: a thread that has panicked has said why, and nobody is answered any more.
        let _ = self.0.send(command);
    }

    /// Hands a request in.
    pub fn request(&self, at: usize, request: MetaRequest) -> oneshot::Receiver<Replied> {
        let (sender, receiver) = oneshot::channel();
        self.tell(Command::Request(at, request, sender));
        receiver
    }

    pub fn with<T: Send + 'static>(&self, what: impl FnOnce(&mut Machines) -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        self.tell(Command::Do(Box::new(move |machines| drop(sender.send(what(machines))))));
        receiver.recv().expect("the metadata servers are there")
    }

    fn at<T: Send + 'static>(&self, inode: InodeId, look: impl FnOnce(&mut Machine) -> T + Send + 'static) -> T {
        let at = usize::from(inode.slot().0);
        self.with(move |machines| look(&mut machines.list[at]))
    }

    pub fn stored(&self, inode: InodeId) -> Option<Stored> {
        self.at(inode, move |machine| stored(machine, inode))
    }
}

/// An inode as it is in the tables.
pub struct Stored {
    pub record: InodeRecord,
    pub inline: Option<Vec<u8>>,
}

fn stored(machine: &Machine, inode: InodeId) -> Option<Stored> {
    let record: InodeRecord = decode(&machine.tables.get(&keys::inode(inode)).unwrap()?).unwrap();
    let file = record.file.as_ref().filter(|file| file.inline_version.is_some());
    let inline = file.map(|file| {
        let row = machine.tables.get(&keys::data(inode)).unwrap();
        let tail = file.tail.iter().flat_map(|tail| tail.iter().copied());
        row.iter().flat_map(|row| row.iter().copied()).chain(tail).collect()
    });
    Some(Stored { record, inline })
}

impl Cluster {
    pub fn metas(&self) -> Metas {
        self.0.lock().metas.clone()
    }

    fn record(&self, inode: InodeId) -> InodeRecord {
        self.metas().stored(inode).expect("the inode").record
    }

    pub fn exists(&self, inode: InodeId) -> bool {
        self.metas().stored(inode).is_some()
    }

    pub fn size(&self, inode: InodeId) -> u64 {
        self.record(inode).size
    }

    pub fn allocated(&self, inode: InodeId) -> Option<u64> {
        self.record(inode).file.unwrap().allocated
    }

    pub fn inline(&self, inode: InodeId) -> Option<Vec<u8>> {
        self.metas().stored(inode).expect("the inode").inline
    }

    /// The targets of a file's chunk files.
    pub fn targets(&self, inode: InodeId) -> Vec<TargetId> {
        self.record(inode).file.unwrap().layout.targets
    }

    /// Somebody holds it open, as the server knows.
    pub fn is_held(&self, inode: InodeId) -> bool {
        self.metas().at(inode, move |machine| machine.tables.openers(inode).unwrap() > 0)
    }

    pub fn lock_kinds(&self, inode: InodeId) -> Vec<LockKind> {
        let locks = self.metas().at(inode, move |machine| lock::read(&machine.tables, inode).unwrap());
        locks.all().iter().map(|held| held.lock.kind).collect()
    }

    /// Everybody hears of a change of the map.
    pub fn change_map(&self, change: impl FnOnce(&mut ClusterMap)) {
        let map = {
            let mut inner = self.0.lock();
            inner.map.version.0 += 1;
            change(&mut inner.map);
            inner.map.clone()
        };
        self.metas().with(move |machines| machines.take_map(map));
    }

    /// The server of the root starts anew.
    pub fn restart_meta(&self) {
        self.metas().with(|machines| machines.restart(0, false));
    }

    /// The server of the root starts anew without what was not on disk.
    pub fn meta_loses_power(&self) {
        self.metas().with(|machines| machines.restart(0, true));
    }

    /// The same, and what clients say of it cannot be done again.
    pub fn meta_loses_for_good(&self) {
        self.0.lock().accidents.lost_for_good = true;
        self.meta_loses_power();
    }

    /// The sessions of one metadata server end as after a long silence.
    pub fn end_sessions(&self, at: usize) {
        let metas = self.metas();
        metas.with(move |machines| machines.end_sessions(at));
        while !metas.with(move |machines| machines.list[at].has_ended()) {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The same of all of them.
    pub fn forget_sessions(&self) {
        (0..usize::from(META_TARGETS)).for_each(|at| self.end_sessions(at));
    }
}
