// SPDX-License-Identifier: Apache-2.0

//! Ways between servers: lost addresses, links that come and go, and servers whose own network fails.

use super::reported::said;
use super::*;
use nyala_wire::mgmt::{LinkReport, LinkState};
use std::net::SocketAddr;

fn at(node: u32, rail: u8) -> SocketAddr {
    format!("10.{rail}.0.{node}:8003").parse().unwrap()
}

/// Servers with two addresses each.
fn railed(nodes: u32) -> ClusterMap {
    let server = |id| Node { addresses: vec![at(id, 0), at(id, 1)], ..node(id, Role::Storage) };
    ClusterMap { nodes: (1..=nodes).map(server).collect(), ..ClusterMap::default() }
}

fn silent(node: u32, rail: u8, silent_ms: u64) -> LinkState {
    LinkState {
        node: NodeId(node),
        address: at(node, rail),
        silent_ms: Some(silent_ms),
        breaks: 1,
        last_break_ms: Some(silent_ms),
    }
}

fn of_links(by: u32, worst: Vec<LinkState>) -> Reported {
    Reported { by: NodeId(by), recalls: None, links: Some(LinkReport { worst, more: 0, watched: 9 }) }
}

#[test]
fn a_lost_address_is_named_with_both_servers() {
    let map = railed(3);
    assert_eq!(said(&map, &[of_links(1, vec![silent(2, 1, 2_999)])]), [""; 0], "not yet");
    assert_eq!(
        said(&map, &[of_links(1, vec![silent(2, 1, 8_100)])]),
        [
            "storage node n1 [ID: 1] has not reached storage node n2 [ID: 2] at 10.1.0.2:8003 for 8 s; it does at 10.0.0.2:8003"
        ]
    );
    let both = said(&map, &[of_links(1, vec![silent(2, 0, 4000), silent(2, 1, 4000)])]);
    assert!(
        both.len() == 2
            && both[0].ends_with("it does at none of its addresses, and what is sent goes through other servers"),
        "{both:?}"
    );
}

#[test]
fn what_is_known_to_be_away_and_what_has_moved_is_no_lost_address() {
    let mut map = railed(3);
    let report = [of_links(1, vec![silent(2, 1, 8000)])];
    map.nodes[1].reachability = Reachability::ProbablyOffline;
    assert_eq!(said(&map, &report), [""; 0], "there is a finding about the node");
    map.nodes[1].reachability = Reachability::Online;
    assert_eq!(said(&map, &report).len(), 1);
    map.nodes[1].addresses.pop();
    assert_eq!(said(&map, &report), [""; 0], "it has this address no more");
}

#[test]
fn a_link_that_comes_and_goes_is_named_until_it_is_calm() {
    let map = railed(2);
    let flaps = |breaks, silent_ms, last_break_ms| {
        let state = LinkState { silent_ms, breaks, last_break_ms, ..silent(2, 0, 0) };
        said(&map, &[of_links(1, vec![state])])
    };
    assert_eq!(flaps(3, None, Some(1000)), [""; 0]);
    let expected = "the link from storage node n1 [ID: 1] to storage node n2 [ID: 2] at 10.0.0.2:8003 comes and goes: connections \
                    were lost 4 times within a minute";
    assert_eq!(flaps(4, None, Some(1000)), [expected]);
    assert_eq!(flaps(4, Some(10), Some(10)), [expected], "also while it is away");
    assert_eq!(flaps(4, None, Some(29_999)), [expected]);
    assert_eq!(flaps(4, None, Some(30_000)), [""; 0], "calm");
}

#[test]
fn a_server_whose_own_network_fails_is_named_once() {
    let map = railed(6);
    let mut reports: Vec<_> = (2..=6).map(|by| of_links(by, vec![silent(1, 1, 5000)])).collect();
    reports.push(of_links(1, (2..=6).map(|node| silent(node, 1, 5000)).collect()));
    assert_eq!(
        said(&map, &reports),
        [
            "the network of storage node n1 [ID: 1] fails to and from n2, n3, n4 and 2 others; it is not reached at 10.1.0.1:8003; it \
          does not reach 10.1.0.2:8003, 10.1.0.3:8003, 10.1.0.4:8003 and 2 others"
        ]
    );
    // Another pair is named besides.
    reports.push(of_links(2, vec![silent(1, 1, 5000), silent(3, 0, 5000)]));
    let all = said(&map, &reports);
    assert!(all.len() == 2 && all[1].contains("n2 [ID: 2] has not reached storage node n3"), "{all:?}");
}

#[test]
fn findings_about_links_are_bounded() {
    let map = railed(100);
    let pairs = (0..50).map(|pair| of_links(2 * pair + 1, vec![silent(2 * pair + 2, 1, 5000)]));
    let mut reports: Vec<_> = pairs.collect();
    reports[0].links.as_mut().unwrap().more = 7;
    let all = said(&map, &reports);
    assert_eq!(all.len(), 17);
    assert!(all[16].starts_with("41 further ways"), "{}", all[16]);
}
