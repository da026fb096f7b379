// SPDX-License-Identifier: Apache-2.0

//! The commands of the pages for administrators that need one machine, as printed and in the order of the pages. What a page runs stands in a
//! block of `sh`; other blocks are output, or commands of hosts that other tests have.

use nyala_e2e::cluster::sibling;
use nyala_e2e::hosts::Machine;
use nyala_e2e::hosts::net::Switch;
use nyala_e2e::{beside_others, binary, cleanup, run};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Pages whose blocks are run, in this order: the first one makes a cluster and stops it.
const FIRST: &str = "quickstart.md";
const PAGES: [&str; 6] = ["sizing.md", "tuning.md", "moving.md", "rest.md", "settings.md", "troubleshooting.md"];

/// Blocks of `sh` of a page.
fn blocks(page: &str) -> Vec<String> {
    let text = fs::read_to_string(binary::repository().join("docs").join(page)).unwrap();
    let fenced = text.split("```").skip(1).step_by(2);
    // A block in a list stands further to the right.
    let lines = |block: &str| block.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
    let blocks: Vec<String> = fenced.filter_map(|block| block.strip_prefix("sh\n")).map(lines).collect();
    assert!(!blocks.is_empty(), "{page} has no block to run");
    blocks
}

/// Whether a block may end with this code: a health check may find something (6) on a machine whose disks are memory.
fn may_end_with(block: &str, code: i32) -> bool {
    code == 0 || (code == 6 && block.contains("nyala health check"))
}

struct Host {
    machine: Option<Machine>,
    root: PathBuf,
    guard: Child,
}

impl Host {
    fn new() -> Host {
        let root = tempfile::Builder::new().prefix("nyala-pages-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        let switch = Switch::make(&root);
        let machine = Machine::make(&root, &switch, 1, "box");
        Host { machine: Some(machine), root, guard }
    }

    fn machine(&self) -> &Machine {
        self.machine.as_ref().expect("it is there until the site goes")
    }

    fn page(&self, page: &str) {
        let began = std::time::Instant::now();
        for block in blocks(page) {
            let outcome = self.machine().sh(&block);
            let code = outcome.code().unwrap_or(-1);
            assert!(may_end_with(&block, code), "{page}:\n{block}\n{}", outcome.describe());
        }
        println!("{page}: {:.1} s", began.elapsed().as_secs_f64());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.machine = None;
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        run::wait(&mut self.guard, Duration::from_secs(60));
    }
}

#[test]
fn e2e_pages_for_administrators() {
    let _one = beside_others();
    let host = Host::new();
    host.page(FIRST);
    let old = "nyala up; mkdir -p /srv/old/a/b /srv/old/c; seq 20000 > /srv/old/a/b/numbers; ln /srv/old/a/b/numbers /srv/old/c/again; \
               head -c 3000000 /dev/urandom > '/srv/old/c/a name'";
    host.machine().sh(old).must();
    for page in PAGES {
        host.page(page);
    }
    let moved = "diff -r /srv/old /mnt/nyala/moved && test /mnt/nyala/moved/a/b/numbers -ef /mnt/nyala/moved/c/again";
    host.machine().sh(moved).must();
    let picture = host.machine().sh("cat /tmp/site.svg").must();
    assert!(picture.contains("16 clients") && picture.contains("the limit"), "{picture}");
    host.machine().sh("nyala health service storage --config /var/lib/nyala-up/conf/storage1.toml").must();
    let nobody =
        host.machine().sh("nyala health service meta --config /var/lib/nyala-up/conf/meta1.toml --listen 127.0.0.1:9");
    assert_eq!(nobody.code(), Some(4), "{}", nobody.describe());
    host.machine().sh("nyala down").must();
}
