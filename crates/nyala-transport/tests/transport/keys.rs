// SPDX-License-Identifier: Apache-2.0

//! Secret files with several keys: who may connect as what.

use crate::common::keys::{key, keys, with};
use crate::common::*;
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{
    Connection, Endpoint, Pool, PoolOptions, Request, Role, Secret, SecretError, ServerOptions, TransportError,
};
use std::sync::atomic::Ordering;

const ROLES: [Role; 7] = [Role::Client, Role::Meta, Role::Storage, Role::Mgmt, Role::Cli, Role::Mon, Role::Other];

#[tokio::test]
async fn a_key_lets_in_as_what_it_is_for_and_as_nothing_else() {
    let known = keys(&[("c", "client"), ("s", "server"), ("a", "admin"), ("x", "all")]);
    let server = start(with(&known, Role::Meta), ServerOptions::default());
    let address = server.address;
    for entry in &known.keys {
        // Who lies knows what its key is for, and says something else.
        let liar = KeyFile { keys: vec![KeyEntry { grant: key("l", "all").grant, ..entry.clone() }] };
        for role in ROLES {
            let before = server.seen.connected.load(Ordering::SeqCst);
            let outcome = Connection::connect(address, &with(&liar, role)).await;
            match entry.grant.roles.covers(role) {
                true => assert!(outcome.expect("covered").call(Request::new(ECHO, Vec::new())).await.is_ok()),
                false => {
                    let refused = TransportError::RoleNotProven { address, role, key: "l".into() };
                    assert_eq!(outcome.expect_err("not covered"), refused);
                    assert_eq!(server.seen.connected.load(Ordering::SeqCst), before, "it reached the service");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_key_for_the_role_is_shown_and_none_is_an_error_at_once() {
    let known = keys(&[("c", "client"), ("s", "server"), ("a", "admin")]);
    let server = start(with(&known, Role::Meta), ServerOptions::default());
    for (role, key) in [(Role::Client, "a"), (Role::Storage, "s"), (Role::Cli, "a"), (Role::Mon, "a")] {
        let connection = Connection::connect(server.address, &with(&known, role)).await.expect("all are there");
        assert_eq!(&*connection.peer().grant.key, key, "the newest that covers {role}");
    }
    let mut ruled = keys(&[("c", "client"), ("r", "client")]);
    ruled.keys[1].grant.rules.read_only = true;
    let shown = |file: KeyFile| Secret::from_keys(&file).offered(Role::Client).map(|grant| grant.key.to_string());
    assert_eq!(shown(ruled.clone()).as_deref(), Ok("c"), "one with rules only where there is no other");
    assert_eq!(shown(KeyFile { keys: ruled.keys.split_off(1) }).as_deref(), Ok("r"));
    let lacks = Connection::connect(server.address, &with(&keys(&[("c", "client")]), Role::Storage)).await;
    let error = lacks.expect_err("no such key");
    assert_eq!(error, TransportError::Secret(SecretError::NoKey { path: None, role: Role::Storage }));
    assert!(!error.is_transient() && error.to_string().contains("no key for a storage service"), "{error}");
}

#[tokio::test]
async fn an_older_key_serves_where_the_newest_is_not_known_yet() {
    let (old, both) = (keys(&[("old", "all")]), keys(&[("old", "all"), ("new", "all")]));
    for (theirs, ours, key) in [(&old, &both, "old"), (&both, &old, "old"), (&both, &both, "new")] {
        let server = start(with(theirs, Role::Meta), ServerOptions::default());
        let pool = Pool::new(with(ours, Role::Client), PoolOptions::default());
        let peer = pool.peer(&Endpoint { addresses: vec![server.address] });
        assert_eq!(&*peer.connection().await.expect("a key is common").peer().grant.key, key);
    }
    let (address, stranger) = {
        let server = start(with(&both, Role::Meta), ServerOptions::default());
        let unknown = with(&keys(&[("y", "all"), ("z", "all")]), Role::Client);
        (server.address, Connection::connect(server.address, &unknown).await.expect_err("none is common"))
    };
    assert_eq!(stranger, TransportError::WrongSecret { address });
}
