// SPDX-License-Identifier: Apache-2.0

//! A large cluster: 1,000 targets, 10,000 clients.

use crate::clusters::{World, healthy};
use nyala_cluster::health::{DiskTimes, Probe};
use nyala_web::{ClientFigures, Page, Visitor, document, parts};
use nyala_wire::map::{MemberState, Reachability};
use nyala_wire::{GroupId, NodeId, TargetId};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU of one view. The tests' own build is not optimised; what ships needs a fraction of this.
const MOST: Duration = Duration::from_millis(100);

/// CPU that this thread has used.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn large() -> World {
    let mut world = healthy();
    let map = &mut world.map;
    let (node, target, group) = (map.nodes[5].clone(), map.targets[2].clone(), map.groups[1].clone());
    (map.nodes, map.targets, map.groups) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..250_u32 {
        let reachability = if n % 10 == 0 { Reachability::Offline } else { Reachability::Online };
        map.nodes.push(nyala_wire::map::Node {
            id: NodeId(n + 1),
            alias: format!("storage{n}"),
            reachability,
            ..node.clone()
        });
    }
    for n in 0..1000_u16 {
        let at = u32::from(n) / 4 + 1;
        let reachability = map.nodes[at as usize - 1].reachability;
        map.targets.push(nyala_wire::map::Target {
            id: TargetId(n + 1),
            alias: format!("disk-{n}"),
            node: NodeId(at),
            reachability,
            ..target.clone()
        });
    }
    for n in 0..500_u16 {
        let states = vec![MemberState::Good, if n % 7 == 0 { MemberState::NeedsResync } else { MemberState::Good }];
        map.groups.push(nyala_wire::map::Group {
            id: GroupId(n + 1),
            members: vec![TargetId(n + 1), TargetId(n + 501)],
            states,
            ..group.clone()
        });
    }
    crate::clusters::figures(&mut world);
    let figures = world.figures.as_mut().unwrap();
    // Each says of its four disks what they took, and is compared with the thousand of the pool.
    for (at, service) in figures.services.iter_mut().enumerate() {
        let disk = |id: usize| {
            let times = ["job", "read", "sync", "log"].into_iter().flat_map(move |kind| {
                let us = 5000 + id as u64 % 97;
                [("count", 10), ("us", us), ("before_count", 10), ("before_us", us), ("waiting_ms", 3)]
                    .map(|(what, value)| (format!("disk.{id}.{kind}.{what}"), value))
            });
            times.collect::<Vec<_>>()
        };
        let counters: Vec<_> = (4 * at + 1..=4 * at + 4).flat_map(disk).collect();
        service.said = Some(Probe { disks: DiskTimes::among(&counters), ..Probe::default() });
    }
    figures.clients = (0..10_000_u32)
        .map(|n| ClientFigures {
            name: format!("10.{}.{}.7", n / 250, n % 250),
            requests: f64::from(n * 7919 % 10_007),
            read: 1e6,
            written: 1e5,
        })
        .collect();
    world
}

#[test]
fn a_view_of_a_large_cluster_is_small_and_quick() {
    let world = large();
    for page in Page::ALL {
        // Of three, the quickest: what else the processor does in between (caches, another thread) is not the page's.
        let times = (0..3).map(|_| {
            let began = cpu_time();
            let facts = world.facts(true);
            let html = document(page, &facts, &parts(page, &facts), &Visitor::default());
            (cpu_time() - began, html)
        });
        let (took, html) = times.min_by_key(|(took, _)| *took).unwrap();
        println!("{:9} {:6.1} ms, {} KB", page.title(), took.as_secs_f64() * 1e3, html.len() / 1024);
        assert!(html.len() < 400 << 10, "{} has {} bytes", page.title(), html.len());
        assert!(took < MOST, "{} took {took:?} of CPU", page.title());
    }
    let html =
        document(Page::Clients, &world.facts(false), &parts(Page::Clients, &world.facts(false)), &Visitor::default());
    assert!(html.contains("and 9950 more clients"));
    let html =
        document(Page::Targets, &world.facts(false), &parts(Page::Targets, &world.facts(false)), &Visitor::default());
    assert!(html.contains("and 900 more targets"));
}
