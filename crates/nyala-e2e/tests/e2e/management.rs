// SPDX-License-Identifier: Apache-2.0

//! Management on three hosts, set up as `docs/operating.md` says: what a node needs is on its command line, and nothing
//! tells it its address.

use nyala_e2e::cluster::{sibling, text};
use nyala_e2e::hosts::net::{Namespace, Switch};
use nyala_e2e::{beside_others, binary, cleanup, run};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);
/// How long all are cut off from all.
const CUT: Duration = Duration::from_secs(4);
/// A node that is alone says so, and not at each attempt.
const MOST_LINES: usize = 20;

struct Management {
    root: PathBuf,
    hosts: Vec<(Namespace, Option<Child>)>,
    guard: Child,
}

impl Management {
    fn new() -> Management {
        let root = tempfile::Builder::new().prefix("nyala-mgmt-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        run::run(Command::new(binary::nyala()).arg("secret").arg(root.join("secret")), LIMIT).must();
        let switch = Switch::make(&root);
        let hosts = (1..=3).map(|number| (switch.host(&root, number), None)).collect();
        Management { root, hosts, guard }
    }

    /// `nyala mgmtd`, with `further` arguments, on a host.
    fn start(&mut self, number: usize, further: &[String]) {
        let log = File::options().create(true).append(true).open(self.log_file(number)).unwrap();
        let dir = self.root.join(format!("mgmtd{number}"));
        let mut command = self.hosts[number].0.command(binary::nyala());
        command.args(["mgmtd", "--dir", &text(&dir), "--secret", &text(&self.root.join("secret"))]).args(further);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.hosts[number].1 = Some(command.spawn().unwrap());
    }

    fn restart(&mut self, number: usize) {
        let mut child = self.hosts[number].1.take().unwrap();
        cleanup::signal(child.id() as i32, libc::SIGTERM);
        assert!(run::wait(&mut child, LIMIT).is_some(), "{number} does not stop");
        // Asking for the level that it has anyway changes nothing.
        self.start(number, &["--log-level".into(), "info".into()]);
    }

    fn log_file(&self, number: usize) -> PathBuf {
        self.root.join(format!("{number}.log"))
    }

    fn log(&self, number: usize) -> Vec<String> {
        let text = fs::read_to_string(self.log_file(number)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The management nodes as the first host sees them.
    fn list(&self) -> Vec<Value> {
        let mut command = self.hosts[0].0.command(binary::nyala());
        let all: Vec<String> = self.hosts.iter().map(|(host, _)| host.address().to_string()).collect();
        command.args(["mgmt", "list", "--output", "json", "--mgmt", &all.join(",")]);
        let listed = run::run(command.arg("--secret").arg(self.root.join("secret")), LIMIT);
        serde_json::from_str(&listed.out).unwrap_or_default()
    }

    /// Waits until so many nodes have a vote and answer the leader.
    fn until_whole(&mut self, count: usize) -> Vec<Value> {
        let since = Instant::now();
        loop {
            let list = self.list();
            let good = |node: &&Value| node["reachable"] == true && node["role"] != "learner";
            if list.len() == count && list.iter().filter(good).count() == count {
                return list;
            }
            for number in 0..self.hosts.len() {
                let child = self.hosts[number].1.as_mut();
                let ended = child.and_then(|child| child.try_wait().ok().flatten());
                assert!(ended.is_none(), "{number} ended: {:?}", self.log(number));
            }
            assert!(since.elapsed() < LIMIT, "{list:?}");
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        for child in self.hosts.iter_mut().filter_map(|(_, child)| child.as_mut()) {
            cleanup::signal(child.id() as i32, libc::SIGKILL);
            run::wait(child, LIMIT);
        }
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        run::wait(&mut self.guard, LIMIT);
    }
}

/// All are cut off from all: nobody leads, nobody decides, nobody floods the log. Healed, all go on. The same after each has
/// started again without being told where the others are.
#[test]
fn e2e_management_does_not_split() {
    let _one = beside_others();
    let mut mgmt = Management::new();
    mgmt.start(0, &[]);
    mgmt.until_whole(1);
    let join = ["--join".to_owned(), mgmt.hosts[0].0.address().to_string()];
    mgmt.start(1, &join);
    mgmt.start(2, &join);
    mgmt.until_whole(3);
    for number in [1, 0, 2] {
        mgmt.restart(number);
        mgmt.until_whole(3);
    }
    for node in mgmt.until_whole(3) {
        let address = node["addresses"][0].as_str().unwrap().to_owned();
        assert!(address.starts_with("10.77.0."), "{node}");
    }
    mgmt.hosts.iter().for_each(|(host, _)| host.cut());
    let before: Vec<usize> = (0..3).map(|number| mgmt.log(number).len()).collect();
    // sleeps: all are cut off for so long, and nothing may happen
    std::thread::sleep(CUT);
    for (number, before) in before.into_iter().enumerate() {
        let log = mgmt.log(number);
        let since = &log[before..];
        let decided = ["this management node leads", "cluster state changed"];
        let split = since.iter().find(|line| decided.iter().any(|what| line.contains(what)));
        assert!(split.is_none(), "{split:?} of {number}, which was alone");
        assert!(since.len() <= MOST_LINES, "{} lines: {since:?}", since.len());
    }
    mgmt.hosts.iter().for_each(|(host, _)| host.mend());
    mgmt.until_whole(3);
}
