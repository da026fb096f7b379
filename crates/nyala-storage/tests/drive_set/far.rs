// SPDX-License-Identifier: Apache-2.0

//! A target on drives that six other services lend out: two of these go and come back, all of them go, and another service takes the target over. And
//! one on a mirror of two: an operator has it start without the drive that never comes back.

use crate::common::{Cluster, Storage, client};
use crate::service::{FILES, TARGET, check_all, content, file, len, raid, sync, wait, write, write_result};
use nyala_raid::Level;
use nyala_storage::drive_set::{DriveKeys, start};
use nyala_storage::{DriveLocation, ExportSpec, SetSpec, StorageConfig, StorageError, TargetSpec};
use nyala_transport::Role;
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, Node, Reachability, Target, TargetKind};
use nyala_wire::raid::{RaidOrder, RaidState};
use nyala_wire::{ErrorCode, MapVersion, NodeId, PoolId};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread::JoinHandle;

/// A port that nobody has now.
pub fn port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

const FOUR_AND_TWO: Level = Level::NPlusM { parity: 2 };

type Ended = JoinHandle<Result<(), StorageError>>;

/// A storage service without targets that lends a drive out.
pub struct Lender {
    pub config: StorageConfig,
    running: Option<(tokio::sync::oneshot::Sender<()>, Ended)>,
}

impl Lender {
    pub fn new(cluster: &Cluster, at: usize) -> Lender {
        let dir = cluster.dir.path().join(format!("far{at}"));
        std::fs::create_dir(&dir).unwrap();
        let mut config = cluster.config(&format!("lender{at}"));
        config.targets.clear();
        config.drive_listen = port();
        config.exports = vec![ExportSpec { name: "d".into(), dir }];
        let mut lender = Lender { config, running: None };
        lender.start();
        lender
    }

    pub fn start(&mut self) {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let config = self.config.clone();
        let run = move || client(nyala_storage::run(config, async move { drop(stopped.await) }));
        self.running = Some((stop, std::thread::spawn(run)));
    }

    pub fn stop(&mut self) {
        let (stop, thread) = self.running.take().unwrap();
        drop(stop);
        thread.join().unwrap().unwrap();
    }

    pub fn location(&self) -> DriveLocation {
        DriveLocation::Net { service: self.config.drive_listen.to_string(), name: "d".into() }
    }
}

fn config(cluster: &Cluster, name: &str, lenders: &[Lender], level: Level) -> StorageConfig {
    let drives: Vec<DriveLocation> = lenders.iter().map(Lender::location).collect();
    let dir = drives[0].to_string().into();
    let set = SetSpec { drives, level: Some(level), strip_bytes: Some(16 << 10), ..SetSpec::default() };
    let mut config = cluster.config(name);
    config.targets = vec![TargetSpec { dir, set: Some(set), ..TargetSpec::default() }];
    config
}

fn all_good(state: &RaidState) -> bool {
    state.members.iter().all(|member| member.state == "good")
}

/// Management says that the target is online there.
fn served_at(cluster: &Cluster, address: SocketAddr) {
    let (node, alias) = (NodeId(9), String::from("other"));
    let role = nyala_wire::map::Role::Storage;
    let (id, kind, reachability) = (TARGET, TargetKind::Storage, Reachability::Online);
    let target = Target {
        id,
        alias: "t".into(),
        kind,
        node,
        pool: PoolId(1),
        reachability,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let node = Node { id: node, alias, role, addresses: vec![address], reachability };
    let version = MapVersion(2);
    *cluster.knobs.map.lock().unwrap() =
        ClusterMap { version, nodes: vec![node], targets: vec![target], ..ClusterMap::default() };
}

async fn again(cluster: &Cluster, storage: &Storage, what: &str) {
    for _ in 0..300 {
        let to = cluster.connect(storage).await;
        match write_result(&to, file(0), 0, &content(0, len(0))).await {
            Ok(()) => return,
            Err(error) => assert!(error.is_none_or(|error| error.code == ErrorCode::NOT_READY), "{what}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await; // sleeps: between two tries
    }
    panic!("{what}");
}

#[test]
fn hosts_of_drives_go_and_come_back_and_another_service_takes_over() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let mut lenders: Vec<Lender> = (0..6).map(|at| Lender::new(&cluster, at)).collect();
    let first = config(&cluster, "a", &lenders, FOUR_AND_TWO);
    let a = cluster.storage(StorageConfig { listen: port(), ..first });
    client(async {
        let to = cluster.connect(&a).await;
        for number in 0..FILES {
            write(&to, file(number), 0, &content(number, len(number))).await;
            sync(&to, file(number)).await;
        }
        let cli = cluster.connect_as(&a, Role::Cli).await;
        assert!(all_good(&raid(&cli, RaidOrder::Show).await.unwrap()));
        [1, 4].into_iter().for_each(|at| lenders[at].stop());
        write(&to, file(0), 100, &content(77, 5000)).await;
        write(&to, file(0), 100, &content(0, 6000)[100..5100]).await;
        check_all(&to, "without two").await;
        wait(&cli, "gone", |state| state.members.iter().filter(|member| member.state == "missing").count() == 2).await;
        [1, 4].into_iter().for_each(|at| lenders[at].start());
        wait(&cli, "caught up", all_good).await;
        // Too many for the level: clients come again, and so do the drives.
        (0..3).for_each(|at| lenders[at].stop());
        let refused = write_result(&to, file(0), 0, &content(0, len(0))).await.unwrap_err();
        assert!(refused.is_none_or(|error| error.code == ErrorCode::NOT_READY), "it is no error of the disk");
        (0..3).for_each(|at| lenders[at].start());
        again(&cluster, &a, "with all drives back").await;
        let to = cluster.connect(&a).await;
        check_all(&to, "with all drives back").await;
        let listen = port();
        served_at(&cluster, listen);
        let b = cluster.storage(StorageConfig { listen, ..config(&cluster, "b", &lenders, FOUR_AND_TWO) });
        let from = cluster.connect(&b).await;
        check_all(&from, "taken over").await;
        let late = write_result(&to, file(1), 0, &[7; 5000]).await.expect_err("the old one writes no more");
        assert!(late.is_none_or(|error| error.code == ErrorCode::NOT_READY));
        check_all(&from, "after a late write of the old one").await;
        wait(&cluster.connect_as(&b, Role::Cli).await, "nothing was lost", all_good).await;
        b.stop().unwrap();
    });
    a.stop().unwrap();
    lenders.iter_mut().for_each(Lender::stop);
}

/// The drive that went last may be newer than the one that is there: only an operator can say that it never comes back.
#[test]
fn a_mirror_of_two_hosts_starts_without_one_when_an_operator_says_so() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let mut lenders: Vec<Lender> = (0..2).map(|at| Lender::new(&cluster, at)).collect();
    let config = StorageConfig { listen: port(), ..config(&cluster, "a", &lenders, Level::Raid1) };
    let set = config.targets[0].set.clone().unwrap();
    let keys = DriveKeys { secret: cluster.secret.clone(), encrypt: false };
    let ordered = |go| start(&set, Some(&keys), go).unwrap();
    let a = cluster.storage(config.clone());
    client(async {
        let to = cluster.connect(&a).await;
        for number in 0..FILES {
            write(&to, file(number), 0, &content(number, len(number))).await;
            sync(&to, file(number)).await;
        }
        // The set needs no help: the service keeps its drives.
        let done = ordered(true);
        assert_eq!((done.refused, done.without, done.members), (None, vec![], 2));
        write(&to, file(0), 0, &content(0, len(0))).await;
    });
    a.stop().unwrap();
    lenders[0].stop();
    let looked = ordered(false);
    assert!(looked.refused.is_some_and(|why| why.contains("nyala raid start")) && looked.without == [0]);
    // The service waits for the other drive until the order comes, and goes on by itself then.
    let a = std::thread::scope(|scope| {
        let order = scope.spawn(|| {
            // sleeps: the service looks for its drives meanwhile, and must not start
            std::thread::sleep(std::time::Duration::from_secs(1));
            assert!(ordered(false).refused.is_some(), "the service has not started without the drive");
            ordered(true)
        });
        let a = cluster.storage(config);
        assert!(order.join().unwrap().refused.is_some());
        a
    });
    client(async {
        let to = cluster.connect(&a).await;
        check_all(&to, "with one drive").await;
        write(&to, file(0), 0, &content(77, 5000)).await;
        sync(&to, file(0)).await;
        // Should it come back after all, it is out of date.
        lenders[0].start();
        let cli = cluster.connect_as(&a, Role::Cli).await;
        wait(&cli, "caught up", all_good).await;
        lenders[1].stop();
        write(&to, file(0), 0, &content(0, len(0))).await;
        check_all(&to, "with the other drive").await;
    });
    let done = ordered(true);
    assert_eq!((done.refused.is_none(), done.without), (true, vec![1]), "the drive that is there knows of it");
    a.stop().unwrap();
    lenders[0].stop();
}
