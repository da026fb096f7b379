// SPDX-License-Identifier: Apache-2.0

//! Tests of secret files.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("own file");
}

#[test]
fn generated_secrets_load_differ_and_are_never_replaced() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let first = Secret::generate(&a).expect("generate");
    let second = Secret::generate(&b).expect("generate");
    assert_ne!(first.keys(), second.keys());
    assert_eq!(first.keys(), Secret::load(&a).expect("load").keys());
    assert_eq!(std::fs::metadata(&a).expect("stat").permissions().mode() & 0o7777, 0o600);
    assert_eq!(std::fs::read(&a).expect("read").len(), 65);
    let again = Secret::generate(&a).expect_err("exists");
    assert!(again.to_string().contains("exists already"), "{again}");
    assert_eq!(first.keys(), Secret::load(&a).expect("load").keys());
    assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 2, "no temporary file is left");
}

#[test]
fn readable_secrets_are_refused_with_the_cure() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("secret");
    Secret::generate(&path).expect("generate");
    for mode in [0o640, 0o604, 0o620, 0o601] {
        chmod(&path, mode);
        let error = Secret::load(&path).expect_err("readable");
        assert_eq!(error, SecretError::Mode { path: path.clone(), mode });
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())));
    }
    chmod(&path, 0o400);
    Secret::load(&path).expect("stricter is fine");
}

#[test]
fn lengths_are_bounded() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("secret");
    for (bytes, good) in [(0, false), (31, false), (32, true), (4096, true), (4097, false), (100_000, false)] {
        std::fs::write(&path, vec![b'x'; bytes]).expect("write");
        chmod(&path, 0o600);
        assert_eq!(Secret::load(&path).is_ok(), good, "{bytes} bytes");
    }
    std::fs::write(&path, format!("{}\n", "y".repeat(32))).expect("write");
    assert_eq!(
        Secret::load(&path).expect("newline does not count").keys(),
        Secret::from_bytes(&[b'y'; 32]).expect("32 bytes").keys()
    );
    assert!(matches!(Secret::load(dir.path()), Err(SecretError::Io { .. })), "a directory");
    assert!(matches!(Secret::load(&dir.path().join("none")), Err(SecretError::Io { .. })));
}

#[test]
fn printing_shows_nothing() {
    let secret = Secret::from_bytes(&[b'q'; 40]).expect("long enough");
    assert_eq!(format!("{secret:?}"), "Secret(…)");
}
