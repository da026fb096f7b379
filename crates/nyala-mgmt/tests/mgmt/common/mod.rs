// SPDX-License-Identifier: Apache-2.0

//! A management service in a thread of its own, and what tests need to talk to it.
#![allow(dead_code)] // why: every test binary uses its own part

use nyala_mgmt::{Mgmt, MgmtConfig, MgmtError};
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::map::{ClusterMap, Settings, TargetKind};
use nyala_wire::mgmt::{Capacity, MgmtReply, MgmtRequest, Register, RegisterTarget, Registered};
use nyala_wire::{ClusterId, MapVersion, TargetId};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const CLUSTER: ClusterId = ClusterId([0xab; 16]);

pub fn secret_file(dir: &Path) -> PathBuf {
    let path = dir.join("secret");
    if !path.exists() {
        Secret::generate(&path).unwrap();
    }
    path
}

/// Short times, any ports.
pub fn config(dir: &Path) -> MgmtConfig {
    MgmtConfig {
        listen: vec![([127, 0, 0, 1], 0).into()],
        rest_listen: ([127, 0, 0, 1], 0).into(),
        cluster: CLUSTER,
        settings: Settings { heartbeat_ms: 100, lease_ms: 900, ..Settings::default() },
        ..MgmtConfig::new(dir.join("mgmt"), secret_file(dir))
    }
}

pub struct Running {
    thread: Option<std::thread::JoinHandle<Result<(), MgmtError>>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    pub address: SocketAddr,
    pub rest: SocketAddr,
    pub token: String,
    secret: PathBuf,
}

impl Running {
    pub fn start(config: MgmtConfig) -> Running {
        let secret = config.secret_file.clone();
        let mgmt = Mgmt::open(config).unwrap();
        let (address, rest) = (mgmt.addresses()[0], mgmt.rest_address());
        let token = std::fs::read_to_string(mgmt.rest_token_file()).unwrap().trim().to_owned();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(mgmt.run(async {
                let _ = stopped.await;
            }))
        });
        Running { thread: Some(thread), stop: Some(stop), address, rest, token, secret }
    }

    pub fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }

    pub fn client(&self) -> MgmtClient {
        client(self.address, &self.secret)
    }

    pub fn metadata_client(&self) -> MgmtClient {
        client_as(nyala_transport::Role::Meta, self.address, &self.secret)
    }

    /// One HTTP request: status and JSON.
    pub fn http(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, serde_json::Value) {
        let mut stream = TcpStream::connect(self.rest).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let authorization = token.map(|t| format!("Authorization: Bearer {t}\r\n")).unwrap_or_default();
        write!(
            stream,
            "{method} /api/v1{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{authorization}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split_whitespace().nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}")))
    }

    /// With the right token, waiting until the service leads.
    pub fn api(&self, method: &str, path: &str, body: &str) -> (u16, serde_json::Value) {
        for _ in 0..200 {
            let answer = self.http(method, path, Some(&self.token), body);
            if answer.0 != 503 {
                return answer;
            }
            // sleeps: between two tries
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("never led");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let (Some(stop), Some(thread)) = (self.stop.take(), self.thread.take()) {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

pub fn client(address: SocketAddr, secret: &Path) -> MgmtClient {
    client_as(Role::Storage, address, secret)
}

pub fn client_as(role: Role, address: SocketAddr, secret: &Path) -> MgmtClient {
    MgmtClient::new(vec![address], HandshakeConfig::new(Secret::load(secret).unwrap(), 0, role, 0))
}

pub fn uuid(n: u8) -> ClusterId {
    ClusterId([n; 16])
}

/// A storage service that says it listens on `address`.
pub fn storage(n: u8, targets: &[u8], address: SocketAddr) -> Register {
    service(nyala_wire::map::Role::Storage, n, targets, address)
}

pub fn service(role: nyala_wire::map::Role, n: u8, targets: &[u8], address: SocketAddr) -> Register {
    let storage = role == nyala_wire::map::Role::Storage;
    let target = |t: &u8| RegisterTarget {
        uuid: uuid(*t),
        id: TargetId(0),
        alias: String::new(),
        kind: if storage { TargetKind::Storage } else { TargetKind::Meta },
        capacity: Capacity { total_bytes: 1 << 40, free_bytes: 1 << 39, total_inodes: 0, free_inodes: 0 },
        losses: 0,
        spare: false,
    };
    Register {
        cluster: ClusterId::UNKNOWN,
        role,
        uuid: uuid(n),
        alias: String::new(),
        addresses: vec![address.to_string()],
        incarnation: u64::from(n),
        targets: targets.iter().map(target).collect(),
    }
}

/// Sends until the service leads.
pub async fn ask(client: &MgmtClient, request: MgmtRequest) -> Result<MgmtReply, nyala_transport::member::MgmtError> {
    let started = Instant::now();
    loop {
        match client.call(&request).await {
            Err(error) if error.is_transient() && started.elapsed() < Duration::from_secs(20) => {
                // sleeps: between two tries
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            decided => return decided,
        }
    }
}

pub async fn register(client: &MgmtClient, register: Register) -> Registered {
    match ask(client, MgmtRequest::Register(register)).await.unwrap() {
        MgmtReply::Registered(registered) => *registered,
        other => panic!("{other:?}"),
    }
}

pub async fn map(client: &MgmtClient) -> ClusterMap {
    match ask(client, MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }).await.unwrap() {
        MgmtReply::Map(map) => *map,
        other => panic!("{other:?}"),
    }
}
