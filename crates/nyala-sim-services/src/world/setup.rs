// SPDX-License-Identifier: Apache-2.0

//! A new cluster gets what the clients work on: a mirror group, directories on all metadata servers, files.

use super::cluster::{REST_PORT, block_on, secret_file};
use crate::kernel::process::MachineId;
use crate::kernel::sockopt::address;
use nyala_client::{Client, ClientConfig, Error};
use nyala_transport::Secret;
use nyala_wire::map::TargetKind;
use nyala_wire::meta::Owner;
use nyala_wire::{ErasureCode, InodeId, Pattern, StripePattern};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nobody in particular.
pub const OWNER: Owner = Owner { uid: 0, gid: 0 };
/// Directories, each with one of everything.
pub const DIRS: [&str; 3] = ["d0", "d1", "d2"];
/// The one whose files are not mirrored.
pub const PLAIN: &str = "d1";
/// The one whose files are to be encoded, in runs in which data is.
pub const CODED: &str = "d0";
/// How.
pub const CODE: ErasureCode = ErasureCode { data: 2, parity: 1 };
/// Files in each directory.
pub const FILES: [&str; 6] = ["small", "large", "wide", "name", "log", "lock"];

/// A client's settings: it tries for ever.
pub fn client_config(mgmt: &[SocketAddr], name: &str) -> ClientConfig {
    let secret = Secret::load(&secret_file()).expect("it was made at the start");
    let retry_timeout = Duration::ZERO;
    // Directories are small: else all their names would never be asked for.
    let misses_before_listing = 2;
    ClientConfig {
        retry_timeout,
        misses_before_listing,
        ..ClientConfig::new(mgmt.to_vec(), secret, format!("{name}:/"))
    }
}

/// Makes everything; to be run in a process.
pub fn run(mgmt: &[SocketAddr], rest: MachineId, (storage, spares): (usize, usize)) -> Result<(), Error> {
    block_on(async {
        let client = Client::connect(client_config(mgmt, "setup")).await?;
        let (targets, names) = loop {
            let map = client.map();
            let of = |kind| map.targets_of(kind).map(|target| target.id.0).collect::<Vec<u16>>();
            let (targets, metas) = (of(TargetKind::Storage), of(TargetKind::Meta));
            let servers: Vec<u16> = map.metadata_servers().map(|server| server.0).collect();
            let spare = metas.iter().copied().find(|target| !servers.contains(target));
            if targets.len() == storage && !servers.is_empty() && (spares == 0 || spare.is_some()) {
                break (targets, servers.first().copied().zip(spare));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        if let [first, second, _, ..] = targets[..] {
            while !make_group(rest, "storage", first, second).await.unwrap_or(false) {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            // Servers that have an older map than a client wait for theirs: so the client has to know the group first.
            while !client.map().groups.iter().any(|group| group.kind == TargetKind::Storage) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        if let Some((server, spare)) = names {
            while !make_group(rest, "meta", server, spare).await.unwrap_or(false) {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        crate::check::ledger(|ledger| ledger.busy.push(InodeId::ROOT.slot()));
        for name in DIRS {
            let mirrored = name != PLAIN;
            let dir = client.mkdir(InodeId::ROOT, name.as_bytes(), 0o755, OWNER).await?.inode;
            if mirrored {
                client.set_pattern(dir, pattern(name, client.map().settings.default_pattern)).await?;
            } else {
                // Files are in the slot of their directory, which is how their numbers begin.
                let number = dir.to_string();
                let slot = number.split('-').next().unwrap_or_default();
                crate::check::ledger(|ledger| ledger.plain.push(slot.to_owned()));
            }
            crate::check::ledger(|ledger| ledger.busy.push(dir.slot()));
            for file in FILES {
                let (_, handle) = client.create(dir, file.as_bytes(), 0o644, OWNER, true).await?;
                handle.fsync(false).await?;
                handle.release().await?;
            }
            client.fsync_dir(dir).await?;
        }
        client.fsync_dir(InodeId::ROOT).await?;
        client.shutdown().await
    })
}

/// Files of this directory are mirrored, or are to be encoded.
fn pattern(dir: &str, usual: StripePattern) -> StripePattern {
    match dir == CODED && crate::check::ledger(|ledger| ledger.data_moves.are_coded) {
        true => StripePattern { pattern: Pattern::Ec, code: Some(CODE), ..usual },
        false => StripePattern { pattern: Pattern::Mirror, ..usual },
    }
}

/// Asks management to make a mirror group of two targets, as `nyala mirror create` does.
async fn make_group(rest: MachineId, kind: &str, first: u16, second: u16) -> std::io::Result<bool> {
    let token = std::fs::read_to_string("mgmt0/rest.token")?;
    let body = format!(r#"{{"kind":"{kind}","members":[{first},{second}]}}"#);
    let request = format!(
        "POST /api/v1/groups HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    let mut stream = TcpStream::connect(address(rest, REST_PORT)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    tracing::info!("mirror group: {answer}");
    Ok(answer.starts_with("HTTP/1.1 2"))
}
