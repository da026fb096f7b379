// SPDX-License-Identifier: Apache-2.0

//! Metadata that is mirrored: a group is made of a server that is in use, its primary dies, and clients go on.

use crate::cluster::OWNER;
use crate::cluster::durable::{chunk_files, put};
use crate::cluster::harness::{Running, free_address, on_thread, until_stopped};
use crate::cluster::keys::answer;
use nyala_client::{Client, ClientConfig};
use nyala_meta::MetaConfig;
use nyala_mgmt::MgmtConfig;
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_store::testing::Machine;
use nyala_store::{Options, Store};
use nyala_transport::member::MgmtClient;
use nyala_transport::{Connection, HandshakeConfig, Role, Secret};
use nyala_wire::map::{ClusterMap, MemberState, TargetKind};
use nyala_wire::meta::{MetaOp, MetaRequest, NewEntry, Owner, Want};
use nyala_wire::mgmt::{GroupOrder, MgmtReply, MgmtRequest};
use nyala_wire::{InodeId, Name, SessionId, Time, codec, message_type};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

struct Cluster {
    dir: tempfile::TempDir,
    mgmt: SocketAddr,
    metas: [SocketAddr; 2],
    others: Vec<Running>,
    running: [Option<Running>; 2],
    /// The disks of both.
    machines: [Machine; 2],
}

impl Cluster {
    fn start() -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        Secret::generate(&secret).unwrap();
        let (mgmt, storage) = (free_address(), free_address());
        let metas = [free_address(), free_address()];
        let config = MgmtConfig {
            listen: vec![mgmt],
            rest_listen: "127.0.0.1:0".parse().unwrap(),
            ..MgmtConfig::new(dir.path().join("mgmt"), &secret)
        };
        let mut others =
            vec![on_thread(move |stop| async { nyala_mgmt::run(config, until_stopped(stop)).await.unwrap() })];
        let mut config = StorageConfig::new(dir.path().join("storage"), storage, vec![mgmt], secret);
        config.targets = vec![TargetSpec { dir: dir.path().join("t0"), ..TargetSpec::default() }];
        others.push(on_thread(move |stop| async { nyala_storage::run(config, until_stopped(stop)).await.unwrap() }));
        let machines = [Machine::new(1), Machine::new(2)];
        let mut cluster = Cluster { dir, mgmt, metas, others, running: [None, None], machines };
        cluster.start_meta(0);
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start_meta(&mut self, n: usize) {
        let config = MetaConfig {
            dir: self.path(&format!("meta{n}")),
            listen: self.metas[n],
            advertise: Vec::new(),
            mgmt: vec![self.mgmt],
            secret_file: self.path("secret"),
            alias: String::new(),
            encrypt: false,
            spare: n > 0,
            split_above: 0,
            slow_operation: Duration::ZERO,
            metrics: None,
            sync_interval: Duration::from_millis(500),
        };
        let machine = self.machines[n].clone();
        self.running[n] = Some(on_thread(move |cut| async move {
            let open = |_: &Path, options: Options| Store::open_with(machine.disk(), machine.ordered(), options);
            tokio::select! {
                ended = nyala_meta::run_on(config, &open, std::future::pending()) => ended.unwrap(),
                () = until_stopped(cut) => {}
            }
        }));
    }

    /// Cuts a metadata service off in the middle of whatever it does.
    fn cut(&mut self, n: usize) {
        let (cut, thread) = self.running[n].take().expect("it runs");
        let _ = cut.send(());
        thread.join().expect("the service is dropped");
    }

    /// Both lose power at once, and what they had not synced.
    fn cut_power(&mut self) {
        (0..2).for_each(|n| self.cut(n));
        self.machines.iter().for_each(Machine::power_cut);
        (0..2).for_each(|n| self.start_meta(n));
    }

    async fn client(&self) -> Client {
        let secret = Secret::load(&self.path("secret")).unwrap();
        let config = ClientConfig {
            retry_timeout: Duration::from_secs(60),
            ..ClientConfig::new(vec![self.mgmt], secret, "test:/")
        };
        Client::connect(config).await.unwrap()
    }

    async fn order(&self, client: &Client, order: GroupOrder) {
        let secret = Secret::load(&self.path("secret")).unwrap();
        let cluster = u128::from_le_bytes(client.map().cluster.0);
        let mgmt = MgmtClient::new(vec![self.mgmt], HandshakeConfig::new(secret, cluster, Role::Cli, 0));
        assert!(matches!(mgmt.call(&MgmtRequest::Groups(order)).await.unwrap(), MgmtReply::Done));
    }

    fn stop(mut self) {
        for n in 0..2 {
            if self.running[n].is_some() {
                self.cut(n);
            }
        }
        while let Some((stop, thread)) = self.others.pop() {
            let _ = stop.send(());
            thread.join().expect("the service ends well");
        }
    }
}

async fn until(client: &Client, what: &str, holds: impl Fn(&ClusterMap) -> bool) {
    let began = Instant::now();
    while !holds(&client.map()) {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: {:?}", client.map().groups);
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn all_good(map: &ClusterMap) -> bool {
    map.groups.first().is_some_and(|group| group.states == [MemberState::Good; 2] && group.is_settled())
}

/// Makes a group of the server and a spare, and waits until both are good.
async fn mirror(cluster: &mut Cluster, client: &Client) {
    cluster.start_meta(1);
    until(client, "a spare", |map| map.targets.len() == 3).await;
    let wish = GroupOrder::CreateAll { kind: TargetKind::Meta, members: 2, ignore_space: true, ignore_uneven: false };
    cluster.order(client, wish).await;
}

/// Does something with a client of a mirrored server whose members are both good.
fn on_a_mirrored_server(test: impl AsyncFnOnce(&mut Cluster, Client)) {
    let mut cluster = Cluster::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let client = cluster.client().await;
        until(&client, "two targets", |map| map.targets.len() == 2).await;
        mirror(&mut cluster, &client).await;
        until(&client, "all good", all_good).await;
        test(&mut cluster, client).await;
    });
    cluster.stop();
}

#[test]
fn a_server_in_use_becomes_a_mirror_group_and_outlives_its_primary() {
    let mut cluster = Cluster::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let client = cluster.client().await;
        until(&client, "two targets", |map| map.targets.len() == 2).await;
        let mut made = 0;
        let mut make = async |count: usize| {
            let began = Instant::now();
            for _ in 0..count {
                client.mkdir(InodeId::ROOT, format!("dir{made}").as_bytes(), 0o755, OWNER).await.unwrap();
                made += 1;
            }
            (made, began.elapsed())
        };
        make(300).await;
        mirror(&mut cluster, &client).await;
        make(100).await;
        until(&client, "all good", all_good).await;
        make(100).await;
        for round in 0..4 {
            cluster.cut(round % 2);
            let (_, took) = make(50).await;
            println!("round {round}: the next change took {took:?}");
            cluster.start_meta(round % 2);
            until(&client, "all good again", all_good).await;
            make(50).await;
        }
        let (made, _) = make(0).await;
        for n in 0..made {
            client.lookup(InodeId::ROOT, format!("dir{n}").as_bytes()).await.unwrap();
        }
        client.shutdown().await.unwrap();
    });
    cluster.stop();
}

/// Both members lose power, again and again, while a client lives: all that it was told is there.
#[test]
fn what_a_living_client_was_told_is_there_after_all_members_lost_power() {
    on_a_mirrored_server(async |cluster, client| {
        let mut made = Vec::new();
        for round in 0..4 {
            for n in 0..40 {
                let name = format!("dir{round}.{n}");
                let dir = client.mkdir(InodeId::ROOT, name.as_bytes(), 0o755, OWNER).await.unwrap().inode;
                put(&client, format!("file{round}.{n}").as_bytes(), 300).await;
                made.push((name, dir));
            }
            cluster.cut_power();
            for (name, dir) in &made {
                assert_eq!(client.lookup(InodeId::ROOT, name.as_bytes()).await.unwrap().inode, *dir, "{name}");
                let file = name.replace("dir", "file");
                assert_eq!(client.lookup(InodeId::ROOT, file.as_bytes()).await.unwrap().size, 300, "{file}");
            }
            client.fsync_dir(InodeId::ROOT).await.unwrap();
            until(&client, "all good again", all_good).await;
        }
        client.shutdown().await.unwrap();
        let other = cluster.client().await;
        for (name, dir) in &made {
            assert_eq!(other.lookup(InodeId::ROOT, name.as_bytes()).await.unwrap().inode, *dir, "{name}");
        }
        other.shutdown().await.unwrap();
    });
}

/// A client that looks at a directory, has a file open that it made in a directory, and is never heard of again.
async fn say_and_die(cluster: &Cluster, other: &Client, dir: InodeId) {
    let secret = Secret::load(&cluster.path("secret")).unwrap();
    let cluster_id = u128::from_le_bytes(other.map().cluster.0);
    let handshake = HandshakeConfig::new(secret, cluster_id, Role::Client, 0);
    let to = Connection::connect(cluster.metas[0], &handshake).await.unwrap();
    let entry = NewEntry { parent: dir, name: Name::new(b"open").unwrap(), perm: 0o644, umask: 0 };
    let ops = [
        MetaOp::SessionOpen { client: "dies:/".to_owned() },
        MetaOp::Lookup { parent: InodeId::ROOT, name: Name::new(b"common").unwrap() },
        MetaOp::Create { entry, exclusive: true },
    ];
    for (sequence, op) in (0..).zip(ops) {
        let (owner, now, want) = (Owner::default(), Time::default(), Want::DELEGATIONS);
        let session = SessionId(0xdead);
        let request = MetaRequest { session, sequence, acked_below: 0, owner, now, op, want, caller: None, user: None };
        answer(&to, message_type::META, codec::encode(&request)).await.unwrap();
    }
}

/// A client dies at the moment when the primary does: others wait for it only where it may hold something, and who reads what it only read
/// waits nowhere. Nobody waits for a session timeout (30 s).
#[test]
fn a_client_that_dies_with_the_primary_is_waited_for_only_where_it_worked() {
    on_a_mirrored_server(async |cluster, client| {
        let dir = async |name: &str| client.mkdir(InodeId::ROOT, name.as_bytes(), 0o755, OWNER).await.unwrap().inode;
        let (mine, its, common) = (dir("mine").await, dir("its").await, dir("common").await);
        assert!(
            ![its, common].map(InodeId::slot).contains(&mine.slot()) && its.slot() != common.slot(),
            "spread over slots"
        );
        say_and_die(cluster, &client, its).await;
        // It is written down by now that nothing is missing.
        // sleeps: the server looks every 5 s, and a busy machine may have it miss a turn
        tokio::time::sleep(Duration::from_secs(11)).await;
        cluster.cut(0);
        let began = Instant::now();
        for n in 0..20 {
            client.mkdir(mine, format!("dir{n}").as_bytes(), 0o755, OWNER).await.unwrap();
        }
        let late = cluster.client().await;
        assert_eq!(late.lookup(InodeId::ROOT, b"common").await.unwrap().inode, common, "it only looked at it");
        assert_eq!(late.lookup(mine, b"dir7").await.unwrap().kind, nyala_wire::FileKind::Directory);
        assert!(began.elapsed() < Duration::from_secs(10), "they waited for the dead one: {:?}", began.elapsed());
        assert_eq!(client.lookup(its, b"open").await.unwrap().size, 0, "that may be its own: its session ends first");
        assert!(began.elapsed() > Duration::from_secs(20), "it was not waited for: {:?}", began.elapsed());
        late.shutdown().await.unwrap();
        client.shutdown().await.unwrap();
    });
}

/// Data of a removed file goes when its removal is on disk at every member, whom nothing else asks for that.
#[test]
fn data_of_removed_files_goes_while_nothing_else_happens() {
    on_a_mirrored_server(async |cluster, client| {
        let chunks = [cluster.path("t0/chunks")];
        put(&client, b"file", 100_000).await;
        assert!(!chunk_files(&chunks).is_empty());
        client.unlink(InodeId::ROOT, b"file").await.unwrap();
        let began = Instant::now();
        while !chunk_files(&chunks).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "chunk files stay");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        client.shutdown().await.unwrap();
    });
}
