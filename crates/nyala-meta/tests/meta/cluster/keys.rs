// SPDX-License-Identifier: Apache-2.0

//! Keys, and what a holder of one sends past the client library.

use nyala_transport::secret::file::{self, Existing};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Connection, Grant, HandshakeConfig, KeyRules, Request, Role, Secret};
use nyala_wire::{ErrorCode, WireError, codec};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

pub fn key(id: &str, roles: &str, read_only: bool) -> KeyEntry {
    let grant = Grant { key: id.into(), roles: roles.parse().unwrap(), rules: KeyRules { read_only } };
    KeyEntry { grant, made: 0, secret: format!("{id:.<32}").into_bytes() }
}

pub fn write(path: &Path, keys: Vec<KeyEntry>) {
    let (_, stamp) = file::read(path).unwrap();
    file::write(path, &KeyFile { keys }.print(), Existing::Replaced(stamp)).unwrap();
}

/// With this one key, whatever its file says that it is for.
pub fn with(entry: &KeyEntry, says: &str, role: Role) -> HandshakeConfig {
    let grant = Grant { key: "mine".into(), roles: says.parse().unwrap(), rules: KeyRules::default() };
    let keys = KeyFile { keys: vec![KeyEntry { grant, ..entry.clone() }] };
    HandshakeConfig::new(Secret::from_keys(&keys), 0, role, 0)
}

pub async fn until_known(addresses: &[SocketAddr], entry: &KeyEntry) {
    let began = Instant::now();
    for address in addresses {
        while Connection::connect(*address, &with(entry, "client", Role::Client)).await.is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "{address} does not read its file again");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// What a service answers, as the code of the error, if it is one.
pub async fn answer(connection: &Connection, message_type: u16, body: Vec<u8>) -> Result<Vec<u8>, ErrorCode> {
    let frame = connection.call(Request::new(message_type, body)).await.unwrap();
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(frame.body.to_vec()),
    }
}

/// One of every request to management.
pub fn mgmt_requests() -> Vec<(&'static str, Vec<u8>)> {
    let pinned = include_str!("../../../../nyala-wire/tests/wire/golden.txt").lines();
    let rows = pinned.filter_map(|line| line.strip_prefix("MgmtRequest.")?.split_once('.')?.1.split_once(' '));
    let byte = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    rows.map(|(name, hex)| (name, (0..hex.len()).step_by(2).map(|at| byte(hex, at)).collect())).collect()
}
