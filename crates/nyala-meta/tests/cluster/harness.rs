// SPDX-License-Identifier: Apache-2.0

//! Starts and stops the cluster.

use nyala_client::{Client, ClientConfig};
use nyala_meta::MetaConfig;
use nyala_mgmt::MgmtConfig;
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_transport::Secret;
use nyala_wire::map::Reachability;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

pub struct Cluster {
    dir: tempfile::TempDir,
    mgmt: SocketAddr,
    services: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn on_thread<F: Future<Output = ()>>(
    work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static,
) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work(stopped));
    });
    (stop, thread)
}

async fn told(stopped: oneshot::Receiver<()>) {
    let _ = stopped.await;
}

impl Cluster {
    pub fn start() -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        Secret::generate(&secret).unwrap();
        let mut cluster = Cluster { mgmt: free_address(), dir, services: Vec::new() };
        let mgmt = MgmtConfig {
            listen: vec![cluster.mgmt],
            rest_listen: free_address(),
            ..MgmtConfig::new(cluster.path("mgmt"), &secret)
        };
        cluster.services.push(on_thread(move |stop| async { nyala_mgmt::run(mgmt, told(stop)).await.unwrap() }));
        for n in 0..2 {
            let meta = MetaConfig {
                dir: cluster.path(&format!("meta{n}")),
                listen: "127.0.0.1:0".parse().unwrap(),
                advertise: Vec::new(),
                mgmt: vec![cluster.mgmt],
                secret_file: secret.clone(),
                alias: String::new(),
                encrypt: false,
                sync_interval: Duration::from_millis(500),
            };
            cluster.services.push(on_thread(move |stop| async { nyala_meta::run(meta, told(stop)).await.unwrap() }));
        }
        let listen = "127.0.0.1:0".parse().unwrap();
        let mut storage = StorageConfig::new(cluster.path("storage"), listen, vec![cluster.mgmt], secret);
        storage.targets =
            (0..4).map(|n| TargetSpec { dir: cluster.path(&format!("t{n}")), ..TargetSpec::default() }).collect();
        cluster.services.push(on_thread(move |stop| async { nyala_storage::run(storage, told(stop)).await.unwrap() }));
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a test as a client, then stops everything in order.
    pub fn run<F: Future<Output = ()>>(mut self, test: impl FnOnce(Client) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let secret = Secret::load(&self.path("secret")).unwrap();
            let config = ClientConfig {
                retry_timeout: Duration::from_secs(30),
                ..ClientConfig::new(vec![self.mgmt], secret, "test:/")
            };
            let client = Client::connect(config).await.unwrap();
            let whole = |map: &nyala_wire::map::ClusterMap| {
                map.targets.len() == 6 && map.targets.iter().all(|target| target.reachability == Reachability::Online)
            };
            while !whole(&client.map()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            tokio::time::timeout(Duration::from_secs(60), test(client.clone())).await.expect("the test ends");
            client.shutdown().await.unwrap();
        });
        while let Some((stop, thread)) = self.services.pop() {
            let _ = stop.send(());
            thread.join().expect("the service ends well");
        }
    }
}
