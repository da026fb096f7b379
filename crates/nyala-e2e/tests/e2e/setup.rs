// SPDX-License-Identifier: Apache-2.0

//! `nyala setup`, by the page `docs/install.md`, on hosts of their own: from nothing to a mirrored cluster that is mounted, with what
//! the units run; and what a service tells its service manager.

mod manager;

use nyala_e2e::cluster::sibling;
use nyala_e2e::hosts::Machine;
use nyala_e2e::hosts::net::Switch;
use nyala_e2e::{binary, cleanup, run, serial};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAMES: [&str; 3] = ["node01", "node02", "node03"];
const SOON: Duration = Duration::from_secs(60);

/// The page's commands, with the host of each.
fn commands() -> Vec<(String, String)> {
    let page = fs::read_to_string(binary::repository().join("docs/install.md")).unwrap();
    let block = page.split("```").nth(1).expect("the page has the block of commands");
    let lines = block.lines().filter_map(|line| line.split_once("# "));
    lines.map(|(host, command)| (host.to_owned(), command.trim().to_owned())).collect()
}

struct Site {
    root: PathBuf,
    machines: Vec<Machine>,
    guard: Child,
}

impl Site {
    fn new() -> Site {
        let root = tempfile::Builder::new().prefix("nyala-setup-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        let switch = Switch::make(&root);
        let machines = (1..).zip(NAMES).map(|(number, name)| Machine::make(&root, &switch, number, name)).collect();
        Site { root, machines, guard }
    }

    fn on(&mut self, host: &str) -> &mut Machine {
        &mut self.machines[NAMES.iter().position(|name| *name == host).unwrap_or_else(|| panic!("no host {host}"))]
    }

    /// Names of hosts are their addresses: nobody resolves names here.
    fn with_addresses(&self, command: &str) -> String {
        let named = NAMES.iter().zip(&self.machines);
        named.fold(command.to_owned(), |text, (name, machine)| text.replace(name, &machine.address().to_string()))
    }

    /// Runs a line of the page. What systemd would start is started as its unit says.
    fn does(&mut self, host: &str, command: &str) {
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
            let asked = site.on(host).sh(&site.with_addresses("nyala mgmt list --mgmt node01"));
            asked.ok() && (role != "mgmtd" || site.has_votes(host))
        });
    }

    fn json(&mut self, command: &str) -> Value {
        let command = self.with_addresses(&format!("{command} --mgmt node01 --output json"));
        serde_json::from_str(&self.on("node01").sh(&command).out).unwrap_or_default()
    }

    fn has_votes(&mut self, host: &str) -> bool {
        let address = format!("{}:8008", self.on(host).address());
        let nodes = self.json("nyala mgmt list");
        let votes = |node: &Value| node["addresses"][0] == address.as_str() && node["role"] != "learner";
        nodes.as_array().is_some_and(|all| all.iter().any(votes))
    }

    fn wait(&mut self, what: &str, mut holds: impl FnMut(&mut Site) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let ended = self.machines.iter_mut().find_map(Machine::ended);
            assert!(ended.is_none(), "{}", ended.unwrap_or_default());
            assert!(began.elapsed() < SOON, "not after {SOON:?}: {what}\n{}", self.logs());
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

#[test]
fn e2e_setup_by_the_page() {
    let _one = serial();
    let mut site = Site::new();
    let commands = commands();
    assert!((8..=12).contains(&commands.len()), "{commands:?}");
    for (host, command) in &commands {
        if command.starts_with("nyala mirror create") {
            // An administrator would see with `nyala target list` that all are there.
            site.wait("all targets are online", |site| {
                let targets = site.json("nyala target list");
                let online = |target: &&Value| target["reachability"] == "online";
                targets.as_array().is_some_and(|all| all.iter().filter(online).count() == 6)
            });
        }
        site.does(host, command);
    }
    site.wait("all groups are good", |site| {
        let groups = site.json("nyala mirror list");
        let members: Vec<Value> = groups
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|group| group["members"].as_array())
            .flatten()
            .cloned()
            .collect();
        members.len() == 6 && members.iter().all(|member| member["state"] == "good")
    });
    mirrored_and_mounted(&mut site);
    again_and_wrong(&mut site);
    site.on("node01").sh("umount /mnt/nyala").must();
}

/// What is written there is on two hosts.
fn mirrored_and_mounted(site: &mut Site) {
    let write = "head -c 3000000 /dev/urandom > /tmp/o; cp /tmp/o /mnt/nyala/f; sync /mnt/nyala/f; \
                 umount /mnt/nyala; mount /mnt/nyala; cmp /tmp/o /mnt/nyala/f";
    site.on("node01").sh(write).must();
    let info = site.on("node01").sh("nyala entry info /mnt/nyala/f --output json").must();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["stripe"]["pattern"], "mirror", "{info}");
    site.on("node01").sh("nyala health check").must();
}

/// The same again changes nothing; what is wrong is refused and changes nothing.
fn again_and_wrong(site: &mut Site) {
    let again = site.on("node01").sh("nyala setup mgmtd").must();
    assert!(again.contains("nothing was changed"), "{again}");
    let before = site.on("node02").sh("cat /etc/nyala/*.toml /etc/fstab | md5sum").must();
    let line = |command: &str| format!("nyala setup {command} --yes");
    for (command, code, word) in [
        ("storage --target /etc", 1, "not empty"),
        ("storage --target /data/t1/sub", 2, "lie in each other"),
        ("meta --instance b", 3, "--mgmt"),
        ("meta --instance b --mgmt 10.77.0.1", 2, "--port"),
        ("meta --instance b/c --mgmt 10.77.0.1", 2, "letters"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --interfaces ib7", 2, "no network interface"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --dir /data/t1", 1, "kind"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --secret /etc/nyala/none", 3, "scp"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --set lisen=1", 2, "lisen"),
        ("client --mgmt 10.77.0.1 --mount mnt", 2, "begins with /"),
        ("meta --mgmt 10.77.0.1 --start", 2, "systemd"),
    ] {
        let refused = site.on("node02").sh(&line(command));
        assert_eq!(refused.code(), Some(code), "{}", refused.describe());
        assert!(refused.err.contains(word), "{word:?} is not said: {}", refused.describe());
    }
    let silent = site.on("node02").sh("nyala setup meta --instance b --port 8105 --mgmt 10.77.0.1 < /dev/null");
    assert_eq!((silent.code(), silent.err.contains("--yes")), (Some(2), true), "{}", silent.describe());
    assert_eq!(site.on("node02").sh("cat /etc/nyala/*.toml /etc/fstab | md5sum").must(), before);
    site.on("node02").sh("test ! -e /etc/nyala/b.d").must();
    // A further instance, and a further target of a service that is there.
    site.on("node02").sh(&line("meta --instance b --port 8105 --mgmt 10.77.0.1 --interfaces lo")).must();
    site.on("node02").sh("nyala config check /etc/nyala/b.d/meta.toml && grep -q '^dir = \"/var/lib/nyala/b/meta\"' /etc/nyala/b.d/meta.toml").must();
    let added = site.on("node02").sh(&line("storage --target /data/t3")).must();
    assert!(added.contains("new storage target"), "{added}");
    site.on("node02").stop("storage", "TERM");
    site.on("node02").start("storage", "nyala storage --config /etc/nyala/storage.toml");
    site.wait("the new target is online", |site| {
        let targets = site.json("nyala target list");
        targets
            .as_array()
            .is_some_and(|all| all.iter().filter(|target| target["reachability"] == "online").count() == 7)
    });
}
