// SPDX-License-Identifier: Apache-2.0

//! The majority is lost for good; one node goes on with what it holds, and those that come back are refused.

use crate::common::ask;
use crate::nodes::Nodes;
use nyala_mgmt::{MgmtError, look_at_remains, recover};
use nyala_wire::MapVersion;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, MgmtRole};

async fn map(nodes: &Nodes) -> ClusterMap {
    match ask(&nodes.client(), MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }).await.unwrap() {
        MgmtReply::Map(map) => *map,
        other => panic!("{other:?}"),
    }
}

async fn why(nodes: &mut Nodes, place: usize) -> String {
    let gone = nodes.running.remove(&place).unwrap();
    tokio::task::spawn_blocking(|| gone.ends()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_goes_on_alone_and_the_lost_ones_are_refused() {
    let mut nodes = Nodes::with(3).await;
    let before = map(&nodes).await;
    let list = nodes.list().await;
    // One that does not lead, so that something has to be made of it.
    let survivor = nodes.place_of(list.iter().find(|node| node.role == MgmtRole::Follower).unwrap());
    let lost: Vec<usize> = (1..=3).filter(|place| *place != survivor).collect();
    let dir = nodes.dir(survivor);
    assert!(matches!(look_at_remains(&dir), Err(MgmtError::Locked { .. })), "its service runs");
    lost.iter().for_each(|place| nodes.kill(*place));
    nodes.kill(survivor);

    let found = look_at_remains(&dir).unwrap();
    assert_eq!((found.others.len(), found.recoveries), (2, 0), "{found:?}");
    assert!(found.last_entry >= found.decided && found.decided > 0 && found.voted_term >= found.last_term, "{found:?}");
    assert_eq!(look_at_remains(&dir).unwrap().last_entry, found.last_entry, "a look changes nothing");
    let after = recover(&dir, "root".into(), "here".into()).unwrap();
    assert_eq!((after.others.len(), after.recoveries, after.node), (0, 1, found.node), "{after:?}");
    assert!(after.last_entry > found.last_entry && after.last_term > found.voted_term, "{after:?}");

    nodes.start(survivor);
    nodes.await_voters(1).await;
    let now = map(&nodes).await;
    assert!(now.version > before.version && now.version.recoveries() == 1, "{now:?}");
    assert_eq!((&now.cluster, &now.settings, &now.slots), (&before.cluster, &before.settings, &before.slots));
    // Both lost ones at once, which are a majority of what they remember.
    lost.iter().for_each(|place| nodes.start(*place));
    for place in &lost {
        let why = why(&mut nodes, *place).await;
        assert!(why.contains("was removed"), "{why}");
    }
    // While they do not find the one that goes on, nothing but they themselves can refuse them; then they end.
    nodes.kill(survivor);
    lost.iter().for_each(|place| nodes.start(*place));
    tokio::time::timeout(std::time::Duration::from_secs(30), nodes.list()).await.expect("one of them leads");
    nodes.start(survivor);
    for place in &lost {
        let why = why(&mut nodes, *place).await;
        assert!(why.contains("was removed"), "{why}");
    }
    assert!(map(&nodes).await.version >= now.version);
    // New ones, on the machines of the lost.
    for place in &lost {
        std::fs::remove_dir_all(nodes.dir(*place)).unwrap();
        nodes.start(*place);
    }
    let list = nodes.await_voters(3).await;
    assert_eq!(list.iter().filter(|node| node.node.0 > 1000).count(), 2, "no number is given twice: {list:?}");
    // They have what was kept, and go on when the one that was recovered dies.
    nodes.kill(survivor);
    assert_eq!(map(&nodes).await.version.recoveries(), 1);
    nodes.start(survivor);
    nodes.await_voters(3).await;
}

#[test]
fn what_is_no_used_directory_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("nothing");
    assert!(matches!(look_at_remains(&dir), Err(MgmtError::Incomplete { .. })));
    assert!(matches!(recover(&dir, String::new(), String::new()), Err(MgmtError::Incomplete { .. })));
    assert!(!dir.exists());
}
