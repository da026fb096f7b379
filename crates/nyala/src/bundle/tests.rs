// SPDX-License-Identifier: Apache-2.0

//! Bundles of a directory with secrets in every place.

use super::*;

const SECRETS: [&str; 4] =
    ["0123456789abcdef0123456789abcdef01", "tokentokentokentoken", "pass-word-1", "k2secretk2secretk2secretk2secret"];

/// A cluster's directory with secrets in every place where one may stand.
fn planted() -> (tempfile::TempDir, ClusterDir) {
    let dir = tempfile::tempdir().unwrap();
    let [key, token, password, other] = SECRETS;
    let file = |name: &str, text: &str| {
        std::fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    file("secret", &format!("{key}\n"));
    file("mgmt/rest.token", &format!("{token}\n"));
    file("influx.password", &format!("{password}\n"));
    file("keys", &format!("nyala-keys 1\nkey id=k2 roles=client secret={other}\nend\n"));
    let at = dir.path().display();
    file(
        "conf/mon.toml",
        &format!("influx-password-file = \"{at}/influx.password\"\nalias = \"{token}\"\n# {password}\n"),
    );
    file(
        "conf/meta1.toml",
        &format!("secret = \"{at}/keys\"\npassword = \"planted-by-key\"\nsync-interval = \"1s\"\n"),
    );
    file(&format!("conf/{password}.toml"), "broken = planted-by-value");
    let lines: String =
        SECRETS.iter().map(|secret| format!("INFO something with {secret} {{\"a\":\"{secret}\"}}\n")).collect();
    file("log/meta1.log", &format!("{}{lines}the last line\n", "an old line\n".repeat(1000)));
    let cluster_dir = ClusterDir::new(dir.path());
    (dir, cluster_dir)
}

#[test]
fn no_secret_leaves_wherever_it_stands() {
    let (_dir, cluster_dir) = planted();
    let why = Failure::unreachable(format!("nobody answers to {}", SECRETS[0]));
    let options = Options {
        cluster: Err(why),
        cluster_dir: Some(cluster_dir),
        settings: None,
        secret: None,
        this_host_only: false,
        host_bytes: 1 << 20,
        log_bytes: 2000,
        most_bytes: 16 << 20,
        time: DEFAULT_TIME,
    };
    let (bytes, contents) = fill(&options, &Root::at(Path::new("/")), Vec::new()).unwrap();
    let files = archive::tests::open(&bytes);
    for (name, content) in &files {
        let content = String::from_utf8_lossy(content);
        for secret in SECRETS.iter().chain(&["planted-by-key", "planted-by-value"]) {
            assert!(!content.contains(secret) && !name.contains(secret), "{secret} in {name}: {content}");
        }
    }
    let of = |end: &str| files.iter().find(|(name, _)| name.ends_with(end)).map(|(_, content)| content.clone());
    let log = String::from_utf8(of("log_meta1.log").unwrap()).unwrap();
    assert!(log.len() <= 2000 && log.starts_with("an old line\n") && log.ends_with("the last line\n"), "{log}");
    assert_eq!(log.matches("[secret]").count(), 2 * SECRETS.len(), "{log}");
    let settings = String::from_utf8(of("conf_meta1.toml").unwrap()).unwrap();
    assert!(settings.contains("sync-interval = \"1s\""), "{settings}");
    assert!(of("proc/meminfo").is_some() && of("host/facts.json").is_some());
    let missing: Vec<&str> = contents.missing.iter().map(|missing| missing.what.as_str()).collect();
    assert!(missing.contains(&"cluster"), "{missing:?}");
}

#[test]
fn a_bundle_is_a_new_file_of_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, cluster_dir) = planted();
    let options = Options {
        cluster: Err(Failure::unreachable("nobody")),
        cluster_dir: Some(cluster_dir),
        settings: None,
        secret: None,
        this_host_only: false,
        host_bytes: 1 << 20,
        log_bytes: 10,
        most_bytes: 2 << 20,
        time: DEFAULT_TIME,
    };
    let file = dir.path().join("b.tar.gz");
    let contents = make(&options, &file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let total: u64 = contents.entries.iter().map(|entry| entry.bytes).sum();
    assert!(total <= 2 << 20);
    assert!(make(&options, &file).unwrap_err().message.contains("cannot make"), "nothing is replaced");
}
