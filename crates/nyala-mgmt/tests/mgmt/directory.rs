// SPDX-License-Identifier: Apache-2.0

//! Everything that keeps the service from starting, each with its own error, and nothing changed on disk.

use crate::common::*;
use nyala_mgmt::{Mgmt, MgmtConfig, MgmtError, RestError};
use nyala_transport::TransportError;
use std::path::Path;

fn refused(config: MgmtConfig) -> MgmtError {
    match Mgmt::open(config) {
        Err(error) => error,
        Ok(_) => panic!("it opened"),
    }
}

/// A directory that has been in use.
async fn used(dir: &Path) {
    let mgmt = Running::start(config(dir));
    map(&mgmt.client()).await;
    let toml = dir.join("mgmt/mgmt.toml");
    while !std::fs::read_to_string(&toml).unwrap().contains("initialised = true") {
        // sleeps: between two looks
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    mgmt.stop();
}

#[tokio::test]
async fn another_clusters_directory() {
    let dir = tempfile::tempdir().unwrap();
    used(dir.path()).await;
    let other = MgmtConfig { cluster: uuid(1), ..config(dir.path()) };
    assert!(matches!(refused(other), MgmtError::ForeignCluster { theirs: CLUSTER, .. }));
    // A directory that has its place keeps it, whatever the configuration says of the first start.
    let further = MgmtConfig { join: vec![([127, 0, 0, 1], 1).into()], ..config(dir.path()) };
    assert_eq!(Mgmt::open(further).unwrap().cluster(), CLUSTER);
    let any = MgmtConfig { cluster: nyala_wire::ClusterId::UNKNOWN, ..config(dir.path()) };
    assert_eq!(Mgmt::open(any).unwrap().cluster(), CLUSTER);
}

#[tokio::test]
async fn damaged_newer_or_missing_parts() {
    let dir = tempfile::tempdir().unwrap();
    used(dir.path()).await;
    let toml = dir.path().join("mgmt/mgmt.toml");
    let good = std::fs::read_to_string(&toml).unwrap();
    let spoilt = [
        "".to_owned(),
        "\u{0}\u{1}".to_owned(),
        good.replace("cluster = \"ab", "cluster = \"zz"),
        good.replace("node_id = 1\n", ""),
        format!("{good}surprise = 1\n"),
        good.replace("format_version = 1", "format_version = -1"),
        good.replace(&CLUSTER.to_string(), &"0".repeat(32)),
    ];
    for text in spoilt {
        std::fs::write(&toml, &text).unwrap();
        let error = refused(config(dir.path()));
        assert!(matches!(error, MgmtError::Damaged { .. }), "{text:?}: {error}");
        assert_eq!(std::fs::read_to_string(&toml).unwrap(), text, "left as it is");
    }
    std::fs::write(&toml, format!("{}surprise = 1\n", good.replace("format_version = 1", "format_version = 2")))
        .unwrap();
    assert!(matches!(refused(config(dir.path())), MgmtError::NewerFormat { found: 2, known: 1, .. }));
    std::fs::remove_file(&toml).unwrap();
    assert!(matches!(refused(config(dir.path())), MgmtError::Incomplete { .. }), "the store is not taken over");
    std::fs::write(&toml, &good).unwrap();
    std::fs::remove_dir_all(dir.path().join("mgmt/store")).unwrap();
    assert!(matches!(refused(config(dir.path())), MgmtError::Incomplete { .. }), "the cluster does not start over");
}

#[tokio::test]
async fn a_first_start_that_was_cut_short_is_done_again() {
    let dir = tempfile::tempdir().unwrap();
    // Everything up to here is made by `open`; the cluster state is not there yet.
    drop(Mgmt::open(config(dir.path())).unwrap());
    std::fs::remove_file(dir.path().join("mgmt/mgmt.toml")).unwrap();
    drop(Mgmt::open(config(dir.path())).unwrap());
    let mgmt = Running::start(config(dir.path()));
    assert_eq!(map(&mgmt.client()).await.cluster, CLUSTER);
}

#[test]
fn in_use_by_another_service() {
    let dir = tempfile::tempdir().unwrap();
    let first = Mgmt::open(config(dir.path())).unwrap();
    assert!(matches!(refused(config(dir.path())), MgmtError::Locked { .. }));
    let elsewhere = |c: MgmtConfig| MgmtConfig { dir: dir.path().join("second"), ..c };
    let taken = MgmtConfig { listen: first.addresses(), ..elsewhere(config(dir.path())) };
    assert!(matches!(refused(taken), MgmtError::Transport(TransportError::PortInUse { .. })));
    let taken = MgmtConfig { rest_listen: first.rest_address(), ..elsewhere(config(dir.path())) };
    assert!(matches!(refused(taken), MgmtError::RestListen { .. }));
}

#[test]
fn a_certificate_without_its_key_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let half = MgmtConfig { rest_certificate: Some("/etc/x.crt".into()), ..config(dir.path()) };
    let error = refused(half);
    assert!(matches!(error, MgmtError::Rest(RestError::Half)) && error.to_string().contains("rest_key"), "{error}");
    assert!(!dir.path().join("mgmt").exists());
}

#[tokio::test]
async fn senseless_first_settings_end_the_service_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut bad = config(dir.path());
    bad.settings.lease_ms = 1;
    let mgmt = Mgmt::open(bad).unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(10), mgmt.run(std::future::pending())).await;
    assert!(matches!(ended.unwrap(), Err(MgmtError::Init(_))));
    // Nothing was decided, so the next start can do better.
    let mgmt = Running::start(config(dir.path()));
    assert_eq!(map(&mgmt.client()).await.settings.lease_ms, 900);
}
