// SPDX-License-Identifier: Apache-2.0

//! Where log lines go: the journal of systemd, with fields; a file that is put aside.

use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Options, alone, beside_others, binary, cleanup};
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(30);

/// The journal's socket is the test's own, in a mount name space that has nothing else below /run.
#[test]
fn e2e_logs_go_to_the_journal_with_their_fields() {
    let _one = alone();
    let cluster = Cluster::prepare(Options::default());
    let (dir, secret) = (cluster.root().join("journal"), cluster.root().join("secret"));
    cluster.nyala(["secret", &text(&secret)]).must();
    fs::create_dir(&dir).unwrap();
    let journal = UnixDatagram::bind(dir.join("socket")).unwrap();
    journal.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let script = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && mount --bind \"$0\" /run/systemd/journal && exec \"$@\"";
    let at = |offset: u16| format!("127.0.0.1:{}", cluster.port() + offset);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(&dir).arg(binary::nyala());
    command.args(["mgmtd", "--log-format", "journal", "--listen", &at(0), "--rest-listen", &at(1)]);
    command.arg("--dir").arg(cluster.root().join("mgmtd")).arg("--secret").arg(&secret).stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (began, mut entries) = (Instant::now(), Vec::new());
    while began.elapsed() < SOON && !entries.iter().any(|entry: &String| is_complete(entry)) {
        let mut bytes = vec![0; 64 << 10];
        if let Ok(len) = journal.recv(&mut bytes) {
            entries.push(String::from_utf8_lossy(&bytes[..len]).into_owned());
        }
    }
    cleanup::signal(child.id() as i32, libc::SIGTERM);
    let ended = nyala_e2e::run::wait(&mut child, SOON);
    assert!(ended.is_some(), "it does not end");
    assert!(entries.iter().any(|entry| is_complete(entry)), "{entries:?}");
}

/// A message with its weight, its program and a field of its own.
fn is_complete(entry: &str) -> bool {
    ["MESSAGE\n", "PRIORITY\n\u{1}\0\0\0\0\0\0\0\u{36}\n", "SYSLOG_IDENTIFIER", "NYALA_"]
        .iter()
        .all(|part| entry.contains(part))
}

/// Services of `up` and what they say to standard error stay in files of a bounded size.
#[test]
fn e2e_logs_are_put_aside_with_standard_error() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, ..Options::default() });
    let log = cluster.dir().join("log/meta1.log");
    let service = cluster.pid("meta1");
    let errors = || fs::read_link(format!("/proc/{service}/fd/2")).unwrap();
    assert_eq!(errors(), log);
    // As an operator's logrotate does it; the next line finds it out.
    let moved = log.with_extension("old");
    fs::rename(&log, &moved).unwrap();
    let began = Instant::now();
    while !Path::new(&log).exists() || errors() != log {
        assert!(began.elapsed() < SOON, "the name is not opened anew: {:?}", errors());
        // Sessions that come and go are logged.
        cluster.stop_service("mount");
        cluster.start_service("mount");
        // sleeps: a file is looked for anew once a second
        std::thread::sleep(Duration::from_millis(1100));
    }
    assert!(!fs::read_to_string(&log).unwrap().is_empty());
}
