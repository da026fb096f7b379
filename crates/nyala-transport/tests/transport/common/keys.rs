// SPDX-License-Identifier: Apache-2.0

//! Lists of keys for tests.

use super::config;
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Grant, HandshakeConfig, KeyRules, Role, Secret};

pub fn key(id: &str, roles: &str) -> KeyEntry {
    let grant = Grant { key: id.into(), roles: roles.parse().expect("roles"), rules: KeyRules::default() };
    KeyEntry { grant, made: 0, secret: format!("{id:-<40}").into_bytes() }
}

pub fn keys(list: &[(&str, &str)]) -> KeyFile {
    KeyFile { keys: list.iter().map(|(id, roles)| key(id, roles)).collect() }
}

pub fn with(keys: &KeyFile, role: Role) -> HandshakeConfig {
    HandshakeConfig { secret: Secret::from_keys(keys), ..config(role) }
}
