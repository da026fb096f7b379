// SPDX-License-Identifier: Apache-2.0

//! A cluster of which every service has a host of its own.
//!
//! Failure model: as of [`crate::hosts`]. A host that is powered off is cut off first: a machine without power refuses no
//! connection, while the kernel under a killed process does. Then its disk takes no more ([`super::disks`]), and only then
//! its process is killed: what it had not synced at that moment is lost.

use super::disks::{Disk, Disks};
use super::net::{Namespace, Switch};
use crate::cluster::{sibling, text};
use crate::run::{Outcome, run, tail, wait};
use crate::{binary, cleanup};
use serde_json::Value;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// What can happen to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its process is killed; the kernel refuses connections from then on.
    Killed,
    /// Its process stands still; the kernel goes on to take what is sent.
    Stopped,
    /// No packet leaves or reaches it; its process runs.
    Cut,
    /// It has no power: cut off, what was not synced on its disk is lost, and its process is dead. For plans whose hosts
    /// have disks of their own.
    PoweredOff,
}

/// How many hosts of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Management: 1 or 3.
    pub mgmt: u8,
    /// Metadata, with one target each.
    pub meta: u8,
    /// Storage, with one target each.
    pub storage: u8,
    /// Make mirror groups, and mirror files by default.
    pub mirror: bool,
    /// What the services' directories lie on.
    pub disks: Disks,
    /// Hosts with a mount: 1 to 9.
    pub clients: u8,
    /// Targets (or mirror groups) that a file is spread over.
    pub stripes: u8,
    /// How long a client may be silent, seconds.
    pub session_timeout_s: u8,
    /// Hosts have a second interface, and services advertise both addresses.
    pub rails: bool,
}

impl Default for Plan {
    fn default() -> Self {
        let (disks, clients, stripes, session_timeout_s) = (Disks::Shared, 1, 1, 30);
        Plan { mgmt: 1, meta: 1, storage: 2, mirror: false, disks, clients, stripes, session_timeout_s, rails: false }
    }
}

/// Whether a whole cluster's files fit there.
fn has_room(dir: &Path) -> bool {
    const NEEDED: u64 = 8 << 30;
    crate::sys::statvfs(dir).is_ok_and(|stat| stat.f_bavail * stat.f_frsize >= NEEDED)
}

/// A service on its host.
struct Host {
    name: String,
    namespace: Namespace,
    disk: Option<Disk>,
    child: Option<Child>,
    fault: Option<Fault>,
}

/// The cluster; dropping it takes it away.
pub struct Hosts {
    root: PathBuf,
    plan: Plan,
    hosts: Vec<Host>,
    guard: Child,
}

impl Hosts {
    /// Makes hosts, starts a cluster on them and mounts it on the last one.
    pub fn start(plan: Plan) -> Hosts {
        // In memory, where there is some: what a disk does meanwhile is not what is measured.
        let memory = Path::new("/dev/shm");
        let named = std::env::var_os("NYALA_E2E_DIR").map(PathBuf::from);
        let parent = named.unwrap_or_else(|| if has_room(memory) { memory.into() } else { "/var/tmp".into() });
        let root = tempfile::Builder::new().prefix("nyala-hosts-").tempdir_in(&parent);
        let root = root.unwrap_or_else(|error| panic!("{}: {error}", parent.display())).keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn();
        let guard = guard.expect("the guard of the clusters runs");
        let mut hosts = Hosts { root, plan, hosts: Vec::new(), guard };
        for dir in ["conf", "log"] {
            fs::create_dir(hosts.root.join(dir)).expect("a fresh directory takes a directory");
        }
        run(Command::new(binary::nyala()).arg("secret").arg(hosts.secret()), COMMAND_LIMIT).must();
        hosts.make_hosts();
        hosts.bring_up();
        hosts
    }

    fn make_hosts(&mut self) {
        let switch = Switch::make(&self.root);
        let numbered = |kind: &'static str, count: u8| (1..=count).map(move |n| format!("{kind}{n}"));
        let names = numbered("mgmt", self.plan.mgmt)
            .chain(numbered("meta", self.plan.meta))
            .chain(numbered("storage", self.plan.storage));
        for (number, name) in (1..).zip(names.chain(numbered("client", self.plan.clients))) {
            let namespace = switch.host(&self.root, number);
            if self.plan.rails {
                switch.add_rail(&namespace);
            }
            let serves = !name.starts_with("client");
            let disk = serves.then(|| Disk::make(self.plan.disks, &self.root.join(&name))).flatten();
            self.hosts.push(Host { name, namespace, disk, child: None, fault: None });
        }
    }

    fn bring_up(&mut self) {
        let names: Vec<String> = self.hosts.iter().map(|host| host.name.clone()).collect();
        for name in names.iter().filter(|name| !name.starts_with("client")) {
            fs::write(self.conf(name), self.configuration(name)).expect("the test's directory takes files");
            self.launch(name);
            if name == "mgmt1" {
                self.until("the first management node answers", |hosts| hosts.ask(&["mgmt", "list"]).ok());
            }
        }
        self.until("all services are there", |hosts| hosts.is_whole());
        if self.plan.mirror {
            // All targets are directories of one file system: their sizes say nothing.
            self.ask(&["mirror", "create", "--auto", "--ignore-space"]).must();
        }
        for name in names.iter().filter(|name| name.starts_with("client")) {
            fs::write(self.conf(name), self.configuration(name)).expect("the test's directory takes files");
            fs::create_dir(self.mount_of(name)).expect("the test's directory takes a directory");
            self.launch(name);
            self.mounted(name);
        }
    }

    /// Waits until a client's mount is there and answers.
    fn mounted(&mut self, name: &str) {
        let mount = self.mount_of(name);
        self.until("the mount is there", |_| !cleanup::mounts_below(&mount).is_empty());
        fs::read_dir(&mount).unwrap_or_else(|error| panic!("the mount answers {error}\n{}", self.logs(30)));
    }

    /// A client dies with what it had not sent, and its host comes back: what was open there is gone.
    pub fn restart_client(&mut self, name: &str) {
        self.strike(name, Fault::Killed);
        cleanup::detach(&self.mount_of(name));
        self.heal(name);
        self.mounted(name);
    }

    fn configuration(&self, name: &str) -> String {
        let at = |name: &str| self.host(name).namespace.address();
        let all: Vec<String> = self.mgmt_names().iter().map(|name| format!("\"{}:8008\"", at(name))).collect();
        let (all, dir, secret) = (all.join(", "), text(&self.data(name)), text(&self.secret()));
        let common = format!("secret = \"{secret}\"\nmgmt = [{all}]\n");
        let (listens, rails) = match self.plan.rails {
            true => {
                let second = self.host(name).namespace.second_address();
                ("0.0.0.0".to_owned(), format!("advertise = [\"{}\", \"{second}\"]\n", at(name)))
            }
            false => (at(name).to_string(), String::new()),
        };
        let (kind, number) = name.split_at(name.len() - 1);
        match kind {
            "mgmt" => {
                let join = if number == "1" { String::new() } else { format!("join = [\"{}:8008\"]\n", at("mgmt1")) };
                let pattern = if self.plan.mirror { "mirror" } else { "raid0" };
                format!(
                    "dir = \"{dir}\"\nlisten = \"{listens}:8008\"\nsecret = \"{secret}\"\npattern = \"{pattern}\"\n\
                     num-targets = {}\nsession-timeout = \"{}s\"\n{rails}{join}",
                    self.plan.stripes, self.plan.session_timeout_s
                )
            }
            "meta" => format!("dir = \"{dir}\"\nlisten = \"{listens}:8005\"\n{rails}{common}"),
            "storage" => format!(
                "dir = \"{dir}/node\"\nlisten = \"{listens}:8003\"\n{rails}{common}[[targets]]\ndir = \"{dir}/t1\"\nid = {number}01\n"
            ),
            _ => common,
        }
    }

    /// Starts a host's process.
    fn launch(&mut self, name: &str) {
        let log = File::options().create(true).append(true).open(self.root.join("log").join(format!("{name}.log")));
        let log = log.expect("the test's directory takes files");
        let mut command = self.host(name).namespace.command(binary::nyala());
        match name.trim_end_matches(char::is_numeric) {
            "mgmt" => command.arg("mgmtd"),
            "client" => {
                let from = format!("{}:/", self.host("mgmt1").namespace.address());
                command.arg("mount").arg(from).arg(self.mount_of(name)).arg("--foreground")
            }
            role => command.arg(role),
        };
        command.arg("--config").arg(self.conf(name)).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a descriptor can be duplicated")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        self.host_mut(name).child = Some(child);
    }

    /// Something happens to a host.
    pub fn strike(&mut self, name: &str, fault: Fault) {
        self.strike_all(&[name], fault);
    }

    /// The same happens to several hosts at once.
    pub fn strike_all(&mut self, names: &[&str], fault: Fault) {
        for name in names {
            let host = self.host_mut(name);
            assert!(host.fault.is_none(), "{name} has {:?} already", host.fault);
            assert!(host.child.is_some(), "{name} does not run");
            host.fault = Some(fault);
            if matches!(fault, Fault::Cut | Fault::PoweredOff) {
                host.namespace.cut();
            }
        }
        if fault == Fault::PoweredOff {
            for name in names {
                let disk = self.host(name).disk.as_ref();
                disk.unwrap_or_else(|| panic!("{name} has no disk of its own to lose power")).power_off();
            }
        }
        let signal = match fault {
            Fault::Killed | Fault::PoweredOff => libc::SIGKILL,
            Fault::Stopped => libc::SIGSTOP,
            Fault::Cut => return,
        };
        for child in names.iter().filter_map(|name| self.host(name).child.as_ref()) {
            cleanup::signal(child.id() as i32, signal);
        }
        if fault == Fault::Stopped {
            return;
        }
        for name in names {
            let host = self.host_mut(name);
            let ended = host.child.take().and_then(|mut child| wait(&mut child, Duration::from_secs(20)));
            assert!(ended.is_some(), "{name} does not die");
            if let Some(disk) = host.disk.as_ref().filter(|_| fault == Fault::PoweredOff) {
                disk.unmount();
            }
        }
    }

    /// No packet goes from one host to another one until both are mended; the other way they go.
    pub fn cut_way(&self, from: &str, to: &str) {
        self.host(from).namespace.cut_to(self.host(to).namespace.address());
    }

    /// Packets from the second address of a host get lost on their way to another one, until that is mended.
    pub fn lose_rail(&self, from: &str, to: &str) {
        self.host(to).namespace.lose_from(self.host(from).namespace.second_address(), 0);
    }

    /// The second address of a host.
    pub fn second_address(&self, name: &str) -> IpAddr {
        self.host(name).namespace.second_address().into()
    }

    /// Packets from one host to another one get lost until the other one is mended: those of more bytes than that.
    pub fn lose_way(&self, from: &str, to: &str, longer_than: u16) {
        self.host(to).namespace.lose_from(self.host(from).namespace.address(), longer_than);
    }

    /// What [`Hosts::cut_way`] did to the first host, or [`Hosts::lose_way`] to the second one, is undone.
    pub fn mend_way(&self, host: &str) {
        self.host(host).namespace.mend();
    }

    /// Hosts send packets one by one from now on: their length is that of real ones.
    pub fn send_one_by_one(&self) {
        self.hosts.iter().for_each(|host| host.namespace.send_one_by_one());
    }

    /// The host is back.
    pub fn heal(&mut self, name: &str) {
        let host = self.host_mut(name);
        let fault = host.fault.take().unwrap_or_else(|| panic!("nothing happened to {name}"));
        if matches!(fault, Fault::Cut | Fault::PoweredOff) {
            host.namespace.mend();
        }
        if let Some(disk) = host.disk.as_ref().filter(|_| fault == Fault::PoweredOff) {
            disk.mount();
        }
        match fault {
            Fault::Killed | Fault::PoweredOff => self.launch(name),
            Fault::Stopped => {
                cleanup::signal(host.child.as_ref().map_or(0, std::process::Child::id) as i32, libc::SIGCONT)
            }
            Fault::Cut => {}
        }
    }

    /// Waits until something holds; a process that ended by itself is an error at once.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&Hosts) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            for host in &mut self.hosts {
                let ended = host.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
                let name = host.name.clone();
                assert!(ended.is_none(), "{name} ended: {ended:?}\n{}", self.logs(30));
            }
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(60), "not after {waited:?}: {what}\n{}", self.logs(30));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Every management node answers the leader, every target is online and good.
    pub fn is_whole(&self) -> bool {
        let listed = self.ask(&["mgmt", "list"]);
        let nodes: Value = serde_json::from_str(&listed.out).unwrap_or_default();
        let there = |node: &&Value| node["reachable"] == true && node["role"] != "learner";
        let votes = nodes.as_array().map_or(0, |all| all.iter().filter(there).count());
        if votes != usize::from(self.plan.mgmt) {
            return false;
        }
        let listed = self.ask(&["target", "list"]);
        let targets: Value = serde_json::from_str(&listed.out).unwrap_or_default();
        let good = |target: &&Value| target["reachability"] == "online" && target["consistency"] == "good";
        let good = targets.as_array().map_or(0, |all| all.iter().filter(good).count());
        good == usize::from(self.plan.meta + self.plan.storage)
    }

    /// The management host that leads.
    pub fn leader(&self) -> String {
        let listed = self.ask(&["mgmt", "list"]).must();
        let nodes: Value = serde_json::from_str(&listed).unwrap_or_default();
        let leads = |node: &&Value| node["role"] == "leader";
        let leader = nodes.as_array().and_then(|all| all.iter().find(leads)).cloned().unwrap_or_default();
        self.host_at(&leader).unwrap_or_else(|| panic!("nobody leads: {listed}"))
    }

    /// The host with the metadata of a file or directory of the mount.
    pub fn metadata_of(&self, path: &Path) -> String {
        let shown = self.ask(&["entry", "info", &text(path)]).must();
        let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
        let listed = self.ask(&["node", "list"]).must();
        let nodes: Value = serde_json::from_str(&listed).unwrap_or_default();
        let there = |node: &&Value| node["alias"].is_string() && node["alias"] == shown["meta_node"];
        let node = nodes.as_array().and_then(|all| all.iter().find(there)).cloned().unwrap_or_default();
        self.host_at(&node).unwrap_or_else(|| panic!("none of {listed} has {shown}"))
    }

    /// The host of a node as commands list it.
    fn host_at(&self, node: &Value) -> Option<String> {
        let at: SocketAddr = node["addresses"][0].as_str()?.parse().ok()?;
        let host = self.hosts.iter().find(|host| IpAddr::from(host.namespace.address()) == at.ip())?;
        Some(host.name.clone())
    }

    /// Runs `nyala ARGS --output json` on the client's host.
    pub fn ask(&self, args: &[&str]) -> Outcome {
        let at = self.mgmt_names();
        let at: Vec<String> = at.iter().map(|name| self.host(name).namespace.address().to_string()).collect();
        let mut command = self.host("client1").namespace.command(binary::nyala());
        command.args(args).arg("--mgmt").arg(at.join(",")).arg("--secret").arg(self.secret());
        run(command.args(["--output", "json"]), COMMAND_LIMIT)
    }

    /// Names of the management hosts.
    pub fn mgmt_names(&self) -> Vec<String> {
        self.names("mgmt")
    }

    fn names(&self, of: &str) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).filter(|name| name.starts_with(of)).collect()
    }

    /// Names of all hosts that serve, clients not among them.
    pub fn service_names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).filter(|name| !name.starts_with("client")).collect()
    }

    /// Names of the metadata hosts.
    pub fn metadata_names(&self) -> Vec<String> {
        self.names("meta")
    }

    /// Names of the storage hosts.
    pub fn storage_names(&self) -> Vec<String> {
        self.names("storage")
    }

    /// Directory for the test's files outside the mount.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The first client's mount point.
    pub fn mount(&self) -> PathBuf {
        self.mount_of("client1")
    }

    /// A client's mount point.
    pub fn mount_of(&self, name: &str) -> PathBuf {
        self.root.join(format!("mnt-{name}"))
    }

    /// Process id of what runs on a host.
    pub fn pid(&self, name: &str) -> i32 {
        let child = self.host(name).child.as_ref();
        child.unwrap_or_else(|| panic!("{name} does not run")).id() as i32
    }

    /// Directory of a storage host's target.
    pub fn target(&self, name: &str) -> PathBuf {
        self.data(name).join("t1")
    }

    /// The last lines of every log.
    pub fn logs(&self, lines: usize) -> String {
        let log = |host: &Host| {
            let bytes = fs::read(self.root.join("log").join(format!("{}.log", host.name))).unwrap_or_default();
            format!("--- {}\n{}\n", host.name, tail(&String::from_utf8_lossy(&bytes), lines))
        };
        self.hosts.iter().map(log).collect()
    }

    fn host(&self, name: &str) -> &Host {
        self.hosts.iter().find(|host| host.name == name).unwrap_or_else(|| panic!("there is no host {name}"))
    }

    fn host_mut(&mut self, name: &str) -> &mut Host {
        self.hosts.iter_mut().find(|host| host.name == name).unwrap_or_else(|| panic!("there is no host {name}"))
    }

    fn secret(&self) -> PathBuf {
        self.root.join("secret")
    }

    fn conf(&self, name: &str) -> PathBuf {
        self.root.join("conf").join(format!("{name}.toml"))
    }

    /// Where a service keeps its files: below what its disk is mounted on, if it has one.
    fn data(&self, name: &str) -> PathBuf {
        self.root.join(name).join("data")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs(40));
        }
        // What stands still cannot die of anything else, and what is cut off cannot say goodbye.
        for child in self.hosts.iter_mut().filter_map(|host| host.child.as_mut()) {
            cleanup::signal(child.id() as i32, libc::SIGKILL);
            wait(child, Duration::from_secs(10));
        }
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        wait(&mut self.guard, Duration::from_secs(20));
    }
}
