// SPDX-License-Identifier: Apache-2.0

//! Where directories are made: the first levels on all servers, small trees below them on one.

use crate::server::{Server, entry};
use crate::support;
use nyala_cluster::placement::PlacementTable;
use nyala_namespace::change::{Change, Fault};
use nyala_namespace::locks::Locks;
use nyala_namespace::ns;
use nyala_namespace::records::{NEAR_DIRECTORIES, SPREAD_LEVELS};
use nyala_namespace::tx::{Plan, parts};
use nyala_namespace::view::MemView;
use nyala_wire::map::{CapacityPool, ClusterMap, SlotRange, Target};
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::*;

const NOW: Time = Time { seconds: 9, nanos: 0 };

/// The first of two metadata servers.
struct First {
    server: Server,
    map: ClusterMap,
}

impl First {
    fn new() -> First {
        let mut map = support::map();
        map.targets.insert(1, Target { id: TargetId(2), ..map.targets[0].clone() });
        map.slots = vec![
            SlotRange { first: Slot(0), count: 32, target: TargetId(1) },
            SlotRange { first: Slot(32), count: 32, target: TargetId(2) },
        ];
        First { server: Server::new(), map }
    }

    /// Makes a directory: here, or says with which part elsewhere.
    fn try_mkdir(&mut self, parent: InodeId, text: &str, random: u64) -> Result<InodeId, Box<TxPart>> {
        let (placement, locks) = (PlacementTable::new(&self.map), Locks::default());
        let env = ns::Env {
            me: TargetId(1),
            map: &self.map,
            placement: &placement,
            session: SessionId(1),
            implicit_open: false,
            owner: Owner { uid: 1, gid: 2 },
            user: None,
            want: Want::NOTHING,
            now: NOW,
            random: random.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        let mut change = Change::new(&self.server.view, &locks, None);
        match ns::run(&mut change, &env, &MetaOp::Mkdir { entry: entry(parent, text, 0o755) }) {
            Ok(MetaReply::Entry(made)) => {
                let batch = change.finish();
                self.server.view.apply(&batch);
                Ok(made.inode)
            }
            Err(Fault::Elsewhere(plan)) => match *plan {
                Plan::Mkdir { part, .. } => Err(Box::new(part)),
                other => panic!("{other:?}"),
            },
            Ok(other) => panic!("{other:?}"),
            Err(_) => panic!("it is made here or elsewhere"),
        }
    }

    /// A directory that is here, whatever it takes.
    fn mkdir_here(&mut self, parent: InodeId, text: &str) -> InodeId {
        (0..100).find_map(|random| self.try_mkdir(parent, text, random).ok()).expect("one of a hundred is here")
    }

    /// How many of a hundred directories, each the next one in the same directory, would be made here.
    fn here_of_hundred(&mut self, parent: InodeId) -> usize {
        (0..100)
            .filter(|random| {
                let before = self.server.view.clone();
                let here = self.try_mkdir(parent, "next", *random).is_ok();
                self.server.view = before;
                here
            })
            .count()
    }
}

#[test]
fn the_first_levels_are_spread_and_small_trees_below_are_near() {
    let mut first = First::new();
    let mut dir = InodeId::ROOT;
    for level in 0..SPREAD_LEVELS {
        assert!((30..70).contains(&first.here_of_hundred(dir)), "level {level} is spread");
        dir = first.mkdir_here(dir, "d");
    }
    for _ in 0..3 {
        assert_eq!(first.here_of_hundred(dir), 100, "below, all are near");
        let mut slots: Vec<_> = (0..NEAR_DIRECTORIES - 1)
            .map(|n| first.try_mkdir(dir, &format!("n{n}"), n.into()).expect("the first ones are near").slot())
            .collect();
        slots.sort();
        slots.dedup();
        assert!(slots.len() > 3, "in many slots of the server, so that they can move apart: {slots:?}");
        let below = first.try_mkdir(dir, "below", 1).expect("the last that is near");
        assert!((30..70).contains(&first.here_of_hundred(dir)), "what has many is spread again");
        dir = below;
    }
}

#[test]
fn where_the_server_gets_full_or_the_depth_is_not_known_directories_are_spread() {
    let mut first = First::new();
    let mut dir = InodeId::ROOT;
    for _ in 0..SPREAD_LEVELS {
        dir = first.mkdir_here(dir, "d");
    }
    first.map.targets[0].capacity_pool = CapacityPool::Low;
    assert_eq!(first.here_of_hundred(dir), 0, "the other one has more room");
    first.map.targets[0].capacity_pool = CapacityPool::Normal;
    assert_eq!(first.here_of_hundred(dir), 100);
    first.server.forge(dir, |record| record.dir.as_mut().unwrap().depth = None);
    assert!((30..70).contains(&first.here_of_hundred(dir)), "made before depths were kept");
    let below = first.mkdir_here(dir, "d");
    assert!((30..70).contains(&first.here_of_hundred(below)), "counted from there on");
}

/// A directory that is made elsewhere counts on from the one above as well.
#[test]
fn depth_goes_with_a_directory_to_the_other_server() {
    let mut first = First::new();
    let dir = first.mkdir_here(InodeId::ROOT, "d");
    let part = (0..100)
        .find_map(|random| first.try_mkdir(dir, &format!("e{random}"), random).err())
        .expect("one is elsewhere");
    assert!(matches!(*part, TxPart::MakeDir { depth: Some(2), .. }), "{part:?}");
    let (mut view, locks) = (MemView::default(), Locks::default());
    let mut change = Change::new(&view, &locks, None);
    let result = parts::check(&mut change, &part, NOW).unwrap();
    parts::perform(&mut change, &part, &result, NOW).unwrap();
    let batch = change.finish();
    view.apply(&batch);
    let PartResult::Attr(attr) = result else { panic!("{result:?}") };
    let mut other = Server { view, ..Server::new() };
    other.forge(attr.inode, |record| assert_eq!(record.dir.as_ref().unwrap().depth, Some(2)));
}
