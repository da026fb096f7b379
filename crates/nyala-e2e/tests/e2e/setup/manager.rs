// SPDX-License-Identifier: Apache-2.0

//! What services tell a service manager: on a socket of the test's own, one datagram for each thing.

use nyala_e2e::{Cluster, Options, beside_others, binary, cleanup, run};
use std::fs::File;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(30);

/// A service with a manager that listens.
struct Managed {
    socket: UnixDatagram,
    child: Child,
    log: PathBuf,
}

impl Managed {
    fn start(cluster: &Cluster, role: &str, args: &[String]) -> Managed {
        let path: PathBuf = cluster.root().join(format!("{role}.socket"));
        let socket = UnixDatagram::bind(&path).unwrap();
        let dir = cluster.root().join(role);
        let mut command = Command::new(binary::nyala());
        command.arg(role).arg("--dir").arg(dir).arg("--secret").arg(cluster.root().join("secret")).args(args);
        let log = path.with_extension("log");
        let errors = File::create(&log).unwrap();
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "1200000").stdin(Stdio::null()).stderr(errors);
        Managed { socket, child: command.spawn().unwrap(), log }
    }

    /// The next thing that it says, if it says something within that time.
    fn hears(&self, longest: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(longest)).unwrap();
        let mut bytes = [0; 4096];
        let len = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    /// Waits until it says this; what it said before.
    #[track_caller]
    fn until(&self, word: &str) -> Vec<String> {
        let (began, mut before) = (Instant::now(), Vec::new());
        while began.elapsed() < SOON {
            match self.hears(Duration::from_secs(1)) {
                Some(said) if said.lines().any(|line| line == word) => return before,
                said => before.extend(said),
            }
        }
        panic!("{word} was not said, but {before:?}\n{}", std::fs::read_to_string(&self.log).unwrap_or_default());
    }

    #[track_caller]
    fn stop(mut self) {
        // Nobody has read for a while: a service does not wait for that, and what has no room is lost.
        while self.hears(Duration::from_millis(1)).is_some() {}
        cleanup::signal(self.child.id() as i32, libc::SIGTERM);
        self.until("STOPPING=1");
        assert!(run::wait(&mut self.child, SOON).is_some_and(|status| status.success()), "it ends in order");
    }
}

#[test]
fn e2e_setup_service_manager() {
    let _one = beside_others();
    let cluster = Cluster::prepare(Options::default());
    cluster.nyala(["secret", cluster.root().join("secret").to_str().unwrap()]).must();
    let at = |offset: u16| format!("127.0.0.1:{}", cluster.port() + offset);
    let flag = |name: &str, value: String| [format!("--{name}"), value];
    let served = [flag("mgmt", at(0)), flag("listen", at(10))].concat();
    let meta = Managed::start(&cluster, "meta", &served);
    let began = Instant::now();
    let early: Vec<String> = std::iter::from_fn(|| meta.hears(Duration::from_millis(1500))).collect();
    assert!(began.elapsed() >= Duration::from_millis(1500));
    assert_eq!(early, ["STATUS=starting, or waiting for management\n"], "not ready before management is there");
    let mgmtd = Managed::start(&cluster, "mgmtd", &[flag("listen", at(0)), flag("rest-listen", at(1))].concat());
    let before = mgmtd.until("READY=1");
    assert!(before.iter().all(|said| said.starts_with("STATUS=")), "{before:?}");
    meta.until("READY=1");
    let target = cluster.root().join("t1").to_str().unwrap().to_owned();
    let served = [flag("mgmt", at(0)), flag("listen", at(11)), flag("target", target)].concat();
    let storage = Managed::start(&cluster, "storage", &served);
    storage.until("READY=1");
    for service in [&mgmtd, &meta, &storage] {
        assert_eq!(service.until("WATCHDOG=1").iter().filter(|said| said.contains("READY")).count(), 0, "said once");
        service.until("WATCHDOG=1");
    }
    // A service that answers nobody is not alive: the manager hears nothing more, and would end it.
    cleanup::signal(storage.child.id() as i32, libc::SIGSTOP);
    while storage.hears(Duration::from_millis(50)).is_some() {}
    assert_eq!(storage.hears(Duration::from_millis(1500)), None);
    cleanup::signal(storage.child.id() as i32, libc::SIGCONT);
    storage.until("WATCHDOG=1");
    for service in [storage, meta, mgmtd] {
        service.stop();
    }
}
