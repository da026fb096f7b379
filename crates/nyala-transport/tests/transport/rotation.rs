// SPDX-License-Identifier: Apache-2.0

//! Keys come and go, and get rules, while nobody stops.

use crate::common::keys::{keys, with};
use crate::common::*;
use nyala_transport::secret::file::{self, Existing};
use nyala_transport::secret::key_file::KeyFile;
use nyala_transport::{Connection, HandshakeConfig, KeyRules, Request, Role, Secret, ServerOptions, TransportError};
use std::path::Path;
use std::time::{Duration, Instant};

fn write(path: &Path, keys: &KeyFile) {
    let existing = file::read(path).map_or(Existing::Kept, |(_, stamp)| Existing::Replaced(stamp));
    file::write(path, &keys.print(), existing).expect("write");
}

fn from_file(path: &Path, role: Role) -> HandshakeConfig {
    HandshakeConfig { secret: Secret::load(path).expect("load"), ..config(role) }
}

/// Waits until it holds, for the time in which a server has looked at its file for certain.
async fn soon(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn keys_come_and_go_while_the_service_runs() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (theirs, ours) = (dir.path().join("server"), dir.path().join("client"));
    let old = keys(&[("old", "all")]);
    write(&theirs, &old);
    write(&ours, &old);
    let server = start(from_file(&theirs, Role::Meta), ServerOptions::default());
    let client = from_file(&ours, Role::Client);
    let connect = || Connection::connect(server.address, &client);
    let first = connect().await.expect("old");

    // The client's host gets the new key first.
    let both = keys(&[("old", "all"), ("new", "all")]);
    write(&ours, &both);
    assert_eq!(&*connect().await.expect("falls back").peer().grant.key, "old");
    write(&theirs, &both);
    let second = connect().await.expect("both know it");
    assert_eq!(&*second.peer().grant.key, "new");
    assert!(first.call(Request::new(ECHO, Vec::new())).await.is_ok(), "nothing ends while the old key is valid");

    write(&theirs, &keys(&[("new", "all")]));
    soon("what the old key proved ends", || first.dead().is_some()).await;
    assert!(second.call(Request::new(ECHO, Vec::new())).await.is_ok(), "what the new key proved goes on");
    let late = with(&old, Role::Client);
    let refused = Connection::connect(server.address, &late).await.expect_err("the old key is of no use");
    assert_eq!(refused, TransportError::WrongSecret { address: server.address });

    // A file that cannot be used changes nothing, and one that is right again does.
    std::fs::write(&theirs, "nyala-keys 1\nkey id=").expect("write");
    connect().await.expect("the keys that were read before stay");
    std::fs::remove_file(&theirs).expect("remove");
    connect().await.expect("the same without a file");
    assert!(second.dead().is_none());
    write(&theirs, &keys(&[("other", "all")]));
    soon("the new file counts", || second.dead().is_some()).await;
    assert!(connect().await.is_err());
}

#[tokio::test]
async fn a_rule_that_is_added_ends_what_was_begun_without_it() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("server");
    let mut known = keys(&[("c", "client"), ("s", "server")]);
    write(&path, &known);
    let server = start(from_file(&path, Role::Meta), ServerOptions::default());
    let client = with(&known, Role::Client);
    let before = Connection::connect(server.address, &client).await.expect("no rule yet");
    known.keys[0].grant.rules.read_only = true;
    write(&path, &known);
    soon("it has to connect anew", || before.dead().is_some()).await;
    let after = Connection::connect(server.address, &client).await.expect("with the rule");
    after.call(Request::new(ECHO, Vec::new())).await.expect("it answers");
    let grants: Vec<KeyRules> = server.seen.grants.lock().expect("no panic").iter().map(|grant| grant.rules).collect();
    assert_eq!(grants.last(), Some(&KeyRules { read_only: true }), "the server's file says the rule");
}

#[test]
fn a_file_that_somebody_else_changed_is_not_overwritten() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("secret");
    write(&path, &keys(&[("a", "all")]));
    let (_, stamp) = file::read(&path).expect("read");
    let late = keys(&[("a", "all"), ("late", "all")]);
    write(&path, &keys(&[("a", "all"), ("b", "all")]));
    let error = file::write(&path, &late.print(), Existing::Replaced(stamp)).expect_err("changed meanwhile");
    assert!(error.to_string().contains("try again"), "{error}");
    assert_eq!(Secret::load(&path).expect("load").grants().len(), 2);
    assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1, "no temporary file is left");
}
