// SPDX-License-Identifier: Apache-2.0

//! Machines on which the page's commands run, and a load that knows what was acknowledged.

use super::is_whole;
use super::page::Page;
use nyala_e2e::cluster::sibling;
use nyala_e2e::hosts::Machine;
use nyala_e2e::hosts::net::Switch;
use nyala_e2e::run::Outcome;
use nyala_e2e::{cleanup, run};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);
/// What has to be in the mirrored directory of the mount, on the machine's own disk.
const EXPECTED: &str = "/root/kept";

pub struct Site {
    pub page: Page,
    machines: Vec<(&'static str, Machine)>,
    root: PathBuf,
    guard: Child,
    /// Files that were written and acknowledged.
    pub files: u32,
}

impl Site {
    pub fn new(names: &[&'static str]) -> Site {
        Site::with(Page::read(), names)
    }

    /// Machines on which the commands of a page run.
    pub fn with(page: Page, names: &[&'static str]) -> Site {
        let root = tempfile::Builder::new().prefix("nyala-site-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        let switch = Switch::make(&root);
        let machine = |(number, name): (u8, &&'static str)| (*name, Machine::make(&root, &switch, number, name));
        let machines = (1..).zip(names).map(machine).collect();
        Site { page, machines, root, guard, files: 0 }
    }

    pub fn on(&mut self, name: &str) -> &mut Machine {
        &mut self.machines.iter_mut().find(|(machine, _)| *machine == name).expect("there is such a machine").1
    }

    /// A disk, by its name, which any machine may have, one after the other.
    pub fn disk(&self, name: &str) -> PathBuf {
        self.root.join("disk").join(name)
    }

    pub fn address(&mut self, name: &str) -> String {
        self.on(name).address().to_string()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.machines.iter().map(|(name, _)| *name).collect()
    }
    /// Runs a command of the page, to its end.
    #[track_caller]
    pub fn tries(&mut self, machine: &str, said: &str, names: &[(&str, &str)]) -> Outcome {
        let command = self.page.command(said, names);
        self.on(machine).sh(&command)
    }

    /// The same; it must work.
    pub fn runs(&mut self, machine: &str, said: &str, names: &[(&str, &str)]) -> String {
        let outcome = self.tries(machine, said, names);
        assert!(outcome.ok(), "{}\n{}", outcome.describe(), self.logs(15));
        outcome.out
    }

    /// A service of the page, in the foreground; `more` is added to its command line.
    pub fn serves(&mut self, machine: &str, said: &str, names: &[(&str, &str)], more: &str) {
        let service = said.split(' ').nth(1).unwrap().to_owned();
        let command = self.page.command(said, names);
        self.on(machine).start(&service, &format!("{command} {more}"));
    }

    pub fn json(&mut self, command: &str) -> Value {
        let said = self.on("m1").sh(&format!("{command} --output json"));
        serde_json::from_str(&said.out).unwrap_or_default()
    }

    /// Waits until something holds; a service that ended by itself is an error at once.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Site) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let ended = self.machines.iter_mut().find_map(|(_, machine)| machine.ended());
            assert!(ended.is_none(), "{}", ended.unwrap_or_default());
            assert!(began.elapsed() < SOON, "not after {SOON:?}: {what}\n{}", self.logs(25));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The page's check of health has nothing to say: what happened moments ago may still be named for some seconds.
    #[track_caller]
    pub fn until_healthy(&mut self) {
        let began = Instant::now();
        loop {
            let said = self.tries("m1", "nyala health check", &[]);
            if said.ok() {
                return;
            }
            assert!(began.elapsed() < SOON, "not healthy after {SOON:?}\n{}\n{}", said.describe(), self.logs(15));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// All targets are online and good, so many of them, and so many management nodes answer the leader.
    #[track_caller]
    pub fn until_whole(&mut self, mgmt: usize, targets: usize) {
        self.until("all is well", |site| {
            let (nodes, list) = (site.json("nyala mgmt list"), site.json("nyala target list"));
            is_whole(&nodes, &list, mgmt, targets)
        });
    }

    /// The id of the target in a directory of a machine.
    pub fn target(&mut self, machine: &str, dir: &str) -> String {
        let said = self.on(machine).sh(&format!("sed -n 's/^target = //p' {dir}/target.toml || true")).must();
        said.trim().to_owned()
    }

    /// Whether a target is a good member of a group.
    pub fn is_good_member(&mut self, target: &str) -> bool {
        let groups = self.json("nyala mirror list");
        let members = groups.as_array().into_iter().flatten().filter_map(|group| group["members"].as_array());
        members
            .flatten()
            .any(|member| member["target"] == target.parse::<u32>().unwrap_or(0) && member["state"] == "good")
    }

    /// Writes some more files into the mirrored directory of the mount, synced, and looks at all that were written before.
    #[track_caller]
    pub fn work(&mut self) {
        let (from, to) = (self.files, self.files + 8);
        let script = format!(
            "mkdir -p {EXPECTED}; cd /mnt/nyala/mirrored; for n in $(seq {from} {}); do \
               {{ echo $n; seq $n $((n + 20000)); }} > {EXPECTED}/f$n; cp {EXPECTED}/f$n f$n; sync f$n; done",
            to - 1
        );
        let written = self.on("m1").sh(&script);
        assert!(written.ok(), "{}\n{}", written.describe(), self.logs(25));
        self.files = to;
        self.look();
    }

    /// What was acknowledged is there, and nothing else. One program compares all: one for each file takes longer than all the rest.
    pub fn look(&mut self) {
        let count = self.files;
        // What was written since a copy was made is gone with what was put back from it.
        let script = format!(
            "n={count}; while test -e {EXPECTED}/f$n; do rm {EXPECTED}/f$n; n=$((n + 1)); done; \
             test \"$(ls {EXPECTED} | wc -l)\" = {count}; diff -r {EXPECTED} /mnt/nyala/mirrored"
        );
        let same = self.on("m1").sh(&script);
        assert!(same.ok(), "{}\n{}", same.describe(), self.logs(25));
    }

    pub fn logs(&self, lines: usize) -> String {
        self.machines.iter().map(|(_, machine)| machine.logs(lines)).collect()
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
