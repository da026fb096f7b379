// SPDX-License-Identifier: Apache-2.0

//! The hosts of the page: what it says is run there, and what systemd would start is started as its unit says.

use nyala_e2e::cluster::sibling;
use nyala_e2e::hosts::Machine;
use nyala_e2e::hosts::net::Switch;
use nyala_e2e::{binary, cleanup, run};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAMES: [&str; 3] = ["node01", "node02", "node03"];
const SOON: Duration = Duration::from_secs(60);

/// Hosts that the page's commands are run on.
pub struct Site {
    root: PathBuf,
    machines: Vec<Machine>,
    guard: Child,
}

impl Site {
    pub fn new() -> Site {
        let root = tempfile::Builder::new().prefix("nyala-setup-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        let switch = Switch::make(&root);
        let machines = (1..).zip(NAMES).map(|(number, name)| Machine::make(&root, &switch, number, name)).collect();
        Site { root, machines, guard }
    }

    pub fn on(&mut self, host: &str) -> &mut Machine {
        &mut self.machines[NAMES.iter().position(|name| *name == host).unwrap_or_else(|| panic!("no host {host}"))]
    }

    /// Names of hosts are their addresses: nobody resolves names here.
    pub fn with_addresses(&self, command: &str) -> String {
        let named = NAMES.iter().zip(&self.machines);
        named.fold(command.to_owned(), |text, (name, machine)| text.replace(name, &machine.address().to_string()))
    }

    /// Runs a line of the page. What systemd would start is started as its unit says.
    pub fn does(&mut self, host: &str, command: &str) {
        if let Some(to) = command.strip_prefix("scp -p /etc/nyala/secret ").and_then(|to| to.split_once(':')) {
            let secret = self.on(host).sh("cat /etc/nyala/secret").must();
            self.on(to.0).sh(&format!("umask 077; printf '%s' '{secret}' > /etc/nyala/secret")).must();
            return;
        }
        let line = self.with_addresses(command);
        let start = line.contains(" --start");
        let role = line.split(' ').nth(2).unwrap_or_default().to_owned();
        let line = line.replace(" --start", "");
        let outcome = self.on(host).sh(&line);
        assert!(outcome.ok(), "{host}: {}\n{}", outcome.describe(), self.logs());
        if !start {
            return;
        }
        if role == "client" {
            let said = outcome
                .out
                .lines()
                .find_map(|line| line.strip_prefix("Next: "))
                .expect("it says what is next")
                .to_owned();
            self.on(host).sh(&said).must();
            return;
        }
        let unit =
            fs::read_to_string(binary::repository().join(format!("packaging/systemd/nyala-{role}.service"))).unwrap();
        let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect("the unit says it");
        let exec = value("ExecStart=").replace("/usr/bin/nyala", "nyala");
        let needed = value("ConditionPathExists=").to_owned();
        self.on(host).sh(&format!("test -e {needed} && nyala config check {needed}")).must();
        self.on(host).start(&role, &exec);
        self.wait(&format!("{role} of {host} answers"), |site| {
            let question = site.with_addresses("nyala mgmt list --mgmt node01");
            let asked = site.on(host).sh(&question);
            asked.ok() && (role != "mgmtd" || site.has_votes(host))
        });
    }

    pub fn json(&mut self, command: &str) -> Value {
        let command = self.with_addresses(&format!("{command} --mgmt node01 --output json"));
        serde_json::from_str(&self.on("node01").sh(&command).out).unwrap_or_default()
    }

    fn has_votes(&mut self, host: &str) -> bool {
        let address = format!("{}:8008", self.on(host).address());
        let nodes = self.json("nyala mgmt list");
        let votes = |node: &Value| node["addresses"][0] == address.as_str() && node["role"] != "learner";
        nodes.as_array().is_some_and(|all| all.iter().any(votes))
    }

    pub fn wait(&mut self, what: &str, mut holds: impl FnMut(&mut Site) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let ended = self.machines.iter_mut().find_map(Machine::ended);
            assert!(ended.is_none(), "{}", ended.unwrap_or_default());
            assert!(began.elapsed() < SOON, "not after {SOON:?}: {what}\n{}", self.logs());
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn logs(&self) -> String {
        self.machines.iter().map(|machine| machine.logs(15)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.machines.clear();
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        run::wait(&mut self.guard, SOON);
    }
}
