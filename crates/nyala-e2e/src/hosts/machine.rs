// SPDX-License-Identifier: Apache-2.0

//! A host with a network and file systems of its own: what is written to `/etc`, `/data` or `/mnt` there is there and nowhere
//! else, so that commands can be run as a page prints them, with the default places of everything.
//!
//! Failure model: the test may die at any moment. The first process of a machine (of a pid namespace of its own) is killed with
//! the one that made it, which has the test's directory in its command line, and everything that runs there goes with it, and
//! the mounts with that. The root is an overlay in memory over the real one, which is only read.

use super::net::{Namespace, Switch};
use crate::binary;
use crate::run::{Outcome, run, until_unmounted, wait};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// What the first process does.
const BOOT: &str = concat!(include_str!("detach.sh"), include_str!("boot.sh"));

/// A host that runs.
#[derive(Debug)]
pub struct Machine {
    name: String,
    root: PathBuf,
    namespace: Namespace,
    first: Child,
    pid: u32,
    services: Vec<(String, Child)>,
}

impl Machine {
    /// Makes it, with the address 10.77.0.`number`.
    pub fn make(root: &Path, switch: &Switch, number: u8, name: &str) -> Machine {
        let namespace = switch.host(root, number);
        let dir = root.join(name);
        fs::create_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let mut first = namespace.command(Path::new("unshare"));
        first.args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]);
        first.args(["sh", "-euc", BOOT, "sh"]);
        first.arg(&dir).arg(binary::nyala()).stdin(Stdio::null());
        let first = first.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (began, children) = (Instant::now(), format!("/proc/{0}/task/{0}/children", first.id()));
        // Its first process has a root of its own once all is mounted.
        let is_up = |pid: &u32| fs::read_link(format!("/proc/{pid}/root")).is_ok_and(|root| root != Path::new("/"));
        let pid = loop {
            let child = fs::read_to_string(&children).ok().and_then(|pids| pids.trim().parse().ok());
            if let Some(pid) = child.filter(is_up) {
                break pid;
            }
            assert!(began.elapsed() < LIMIT, "{name} does not come up");
            std::thread::sleep(Duration::from_millis(10)); // sleeps: between two looks
        };
        Machine { name: name.to_owned(), root: root.to_owned(), namespace, first, pid, services: Vec::new() }
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.namespace.address()
    }

    /// Its network.
    pub fn network(&self) -> &Namespace {
        &self.namespace
    }

    /// A command of the shell that runs there.
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid.to_string(), "--mount", "--pid", "--net", "--root", "--wdns=/"]);
        command.args(["sh", "-euc", script]).env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// Runs a command of the shell there.
    pub fn sh(&self, script: &str) -> Outcome {
        run(&mut self.command(script), LIMIT)
    }

    /// Mounts a disk there, at `at`: a directory of the test's file system, which another machine may have later.
    pub fn attach(&self, disk: &Path, at: &str) {
        fs::create_dir_all(disk).unwrap_or_else(|error| panic!("{}: {error}", disk.display()));
        let place = self.root.join(&self.name).join("root").join(at.trim_start_matches('/'));
        let (script, mut command) = (r#"mkdir -p "$2"; mount --bind "$1" "$2""#, Command::new("nsenter"));
        command.args(["--target", &self.pid.to_string(), "--mount", "sh", "-euc", script, "sh"]).arg(disk).arg(place);
        run(&mut command, LIMIT).must();
    }

    /// Unmounts there what [`Machine::attach`] mounted; nobody works on it any more.
    pub fn detach(&self, at: &str) {
        until_unmounted(|| self.sh(&format!("umount '{at}'")));
    }

    /// Starts a service there, in the foreground, as a supervisor does.
    pub fn start(&mut self, service: &str, script: &str) {
        let log = File::options().create(true).append(true).open(self.log_of(service));
        let log = log.expect("the test's directory takes files");
        let mut command = self.command(&format!("exec {script}"));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a descriptor can be duplicated")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{script}: {error}"));
        assert!(self.services.iter().all(|(name, _)| name != service), "{service} of {} runs already", self.name);
        self.services.push((service.to_owned(), child));
    }

    /// Sends a signal to a service and waits for its end. (`nsenter` forks for the new pid namespace: its child is the service.)
    pub fn stop(&mut self, service: &str, signal: &str) {
        let at = self.services.iter().position(|(name, _)| name == service);
        let (_, mut child) = self.services.remove(at.unwrap_or_else(|| panic!("{service} does not run")));
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        let pid = children.trim().parse().unwrap_or_else(|_| panic!("{service} of {} ended: {children}", self.name));
        crate::cleanup::signal(pid, if signal == "KILL" { libc::SIGKILL } else { libc::SIGTERM });
        let ended = wait(&mut child, Duration::from_secs(30));
        assert!(ended.is_some(), "{service} of {} does not end\n{}", self.name, self.log(service));
    }

    /// A service that ended by itself, with the last lines of its log.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.services.iter_mut().find_map(|(name, child)| {
            let status = child.try_wait().ok().flatten()?;
            Some((name.clone(), status))
        });
        ended.map(|(name, status)| format!("{name} of {} ended: {status}\n{}", self.name, self.log(&name)))
    }

    /// The log of a service.
    pub fn log(&self, service: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.log_of(service)).unwrap_or_default()).into_owned()
    }

    fn log_of(&self, service: &str) -> PathBuf {
        self.root.join(format!("{}-{service}.log", self.name))
    }

    /// The last lines of all its logs.
    pub fn logs(&self, lines: usize) -> String {
        let one = |(name, _): &(String, Child)| {
            format!("--- {} {name}\n{}\n", self.name, crate::run::tail(&self.log(name), lines))
        };
        self.services.iter().map(one).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // why ignored: it may have ended; with it goes everything on the machine.
        let _ = self.first.kill();
        wait(&mut self.first, LIMIT);
        for (_, child) in &mut self.services {
            wait(child, LIMIT);
        }
    }
}
