// SPDX-License-Identifier: Apache-2.0

//! What is spoken where, and files that are wrong.

use super::*;

#[test]
fn others_reach_only_what_is_encrypted() {
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    let (file, key) = (Path::new("/c"), Path::new("/k"));
    let said = |listen: &str, insecure| spoken(at(listen), insecure, None, None).unwrap();
    assert_eq!(said("127.0.0.1:1", false), Spoken::Plain);
    assert_eq!(said("10.0.0.1:1", true), Spoken::Plain);
    assert_eq!(said("0.0.0.0:1", false), Spoken::OwnCertificate);
    let given = spoken(at("127.0.0.1:1"), false, Some(file), Some(key)).unwrap();
    assert_eq!(given, Spoken::Certificate(file.into(), key.into()), "also on localhost");
    assert!(spoken(at("10.0.0.1:1"), true, Some(file), None).is_err());
}

#[test]
fn an_own_certificate_is_made_once_and_wrong_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let hosts = hosts(([0, 0, 0, 0], 1).into(), &[([10, 1, 2, 3], 8).into()], Some("node7".to_owned()));
    assert_eq!(hosts, ["10.1.2.3", "127.0.0.1", "localhost", "node7"]);
    assert_eq!(super::hosts(([0, 0, 0, 0], 1).into(), &[], Some("büro".to_owned())), ["127.0.0.1", "localhost"]);
    Tls::own(dir.path(), &hosts).unwrap();
    let (certificate, key) = (dir.path().join("rest.crt"), dir.path().join("rest.key"));
    let first = std::fs::read(&certificate).unwrap();
    assert_eq!(mode_of(&key).unwrap(), 0o600);
    let tls = Tls::own(dir.path(), &hosts).unwrap();
    assert_eq!(std::fs::read(&certificate).unwrap(), first);
    // Half a file later: what was read before goes on.
    std::fs::write(&certificate, &first[..first.len() / 2]).unwrap();
    tls.acceptor(Instant::now() + LOOK_EVERY * 2);
    let error = Tls::load(&certificate, &key).err().unwrap().to_string();
    assert!(error.contains("rest.crt"), "{error}");
    std::fs::write(&certificate, &first).unwrap();
    std::fs::write(&key, "no key").unwrap();
    assert!(Tls::load(&certificate, &key).err().unwrap().to_string().contains("rest.key"));
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o604)).unwrap();
    assert!(Tls::load(&certificate, &key).err().unwrap().to_string().contains("0604"));
    std::fs::remove_file(&key).unwrap();
    Tls::own(dir.path(), &hosts).unwrap();
    assert_ne!(std::fs::read(&certificate).unwrap(), first, "a certificate without its key is replaced");
}
