// SPDX-License-Identifier: Apache-2.0

//! Several management nodes: the leader is found, and found again.

use super::*;
use std::time::Instant;

fn client(addresses: Vec<SocketAddr>) -> MgmtClient {
    MgmtClient::new(addresses, handshake(Role::Client))
}

fn follower(addresses: Vec<String>) -> Rc<RefCell<Fake>> {
    let fake = fake();
    fake.borrow_mut().follows = Some(addresses);
    fake
}

const WATCH: MgmtRequest = MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 };

#[tokio::test]
async fn a_follower_leads_to_the_leader() {
    let test = async {
        let leader = fake();
        let (leads, _stop) = serve(&leader, any_port());
        let (follows, _stop) = serve(&follower(vec![leads.to_string()]), any_port());
        let client = client(vec![follows]);
        assert!(matches!(client.call(&WATCH).await, Ok(MgmtReply::Map(_))));
        assert_eq!(client.addresses(), [leads, follows], "and it is asked first from then on");
        // While nobody leads, that is said, and soon.
        leader.borrow_mut().follows = Some(Vec::new());
        let since = Instant::now();
        let error = client.call(&WATCH).await.unwrap_err();
        assert!(error.is_transient() && since.elapsed() < Duration::from_secs(4), "{error}");
        // Two that send us to each other do not keep us for ever.
        leader.borrow_mut().follows = Some(vec![follows.to_string()]);
        assert!(client.call(&WATCH).await.unwrap_err().is_transient());
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn one_address_is_enough_even_when_that_node_dies() {
    let test = async {
        let (first, second) = (fake(), follower(Vec::new()));
        let (one, stop_one) = serve(&first, any_port());
        let (two, _stop) = serve(&second, any_port());
        first.borrow_mut().members = vec![one, two];
        second.borrow_mut().members = vec![one, two];
        let member = join(vec![one]).await.unwrap();
        assert_eq!(member.watch().newer_than(MapVersion(0)).await.mgmt_addresses().count(), 2);
        stop_one.stop();
        second.borrow_mut().follows = None;
        second.borrow_mut().version = 2;
        assert_eq!(member.watch().newer_than(MapVersion(1)).await.version, MapVersion(2));
        until("heartbeats go to the new leader", || second.borrow().heartbeats > 2).await;
        assert!(member.lease_valid());
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_node_that_hangs_holds_nobody_up() {
    let test = async {
        let hangs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (leads, _stop) = serve(&fake(), any_port());
        let client = client(vec![hangs.local_addr().unwrap(), leads]);
        for wait_ms in [0, 50] {
            let since = Instant::now();
            let answer = client.call(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms }).await;
            assert!(matches!(answer, Ok(MgmtReply::Map(_))), "{answer:?}");
            assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
        }
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_map_that_somebody_told_of_is_fetched_although_the_poll_hangs() {
    let test = async {
        let fake = fake();
        let (address, _stop) = serve(&fake, any_port());
        let watch = MapWatch::start(client(vec![address]));
        watch.newer_than(MapVersion(0)).await;
        // From now on the poll is with a node that will never answer it, and nothing says so.
        fake.borrow_mut().swallows_polls = true;
        // sleeps: the poll is with that node by then
        tokio::time::sleep(Duration::from_millis(50)).await;
        fake.borrow_mut().version = 2;
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(watch.current().version, MapVersion(1));
        let since = Instant::now();
        watch.heard_of(MapVersion(2));
        assert_eq!(watch.newer_than(MapVersion(1)).await.version, MapVersion(2));
        assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    };
    LocalSet::new().run_until(test).await;
}

/// Nodes that an operator gave up come back with their directories and find a majority among themselves.
#[tokio::test]
async fn management_that_was_given_up_gives_nobody_a_lease() {
    let test = async {
        let (goes_on, given_up) = (fake(), follower(Vec::new()));
        goes_on.borrow_mut().version = MapVersion(9).after_recovery().unwrap().0;
        let (one, stop_one) = serve(&goes_on, any_port());
        let (two, _stop) = serve(&given_up, any_port());
        let member = join(vec![two, one]).await.unwrap();
        let version = member.watch().newer_than(MapVersion(0)).await.version;
        assert_eq!(version.recoveries(), 1);
        given_up.borrow_mut().follows = None;
        given_up.borrow_mut().version = 999;
        // Both say that they lead; then only the one that was given up is there.
        until("heartbeats are answered", || goes_on.borrow().heartbeats > 2).await;
        stop_one.stop();
        until("it asks the other one", || given_up.borrow().heartbeats > 2).await;
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(!member.lease_valid(), "a lease of management that was given up");
        assert_eq!(member.map().version, version);
        let error = member.mgmt().call(&WATCH).await.unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("mgmt recover"), "{error}");
    };
    LocalSet::new().run_until(test).await;
}
