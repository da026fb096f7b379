// SPDX-License-Identifier: Apache-2.0

//! The `pjdfstest` suite: every system call on names and attributes with every error that POSIX has for it.

use nyala_e2e::run::{Outcome, run};
use nyala_e2e::{beside_others, binary, shared};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);

/// Cases that fail, each with its reason in `docs/SEMANTICS.md`. No others may fail, and these must.
const CANNOT_PASS: &[&str] = &[];

/// Cases that the suite itself leaves out on this mount, likewise.
const LEFT_OUT: &[&str] = &["link::link_count_max"];

/// The cases that remount read-only: they need a process of their own, since others of the suite leave files open for
/// writing, which forbids it on every file system.
const REMOUNTING: &str = "erofs";

/// Users and groups that every Debian has; nothing is added to the machine.
const USERS: &str = r#"[["nobody", "nogroup"], ["daemon", "daemon"]]"#;

/// Everything is on that Linux has.
fn config(secondary: &Path, allow_remount: bool) -> String {
    format!(
        "[features]\nposix_fallocate = {{}}\nrename_ctime = {{}}\nstat_st_birthtime = {{}}\nutime_now = {{}}\nutimensat = {{}}\n\
         secondary_fs = {secondary:?}\n\n[settings]\nnaptime = 0.01\nallow_remount = {allow_remount}\n\n\
         [dummy_auth]\nentries = {USERS}\n"
    )
}

/// Names of the cases that ended so.
fn ended(outcome: &Outcome, how: &str) -> BTreeSet<String> {
    let lines = outcome.out.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(name, end)| name.contains("::") && end.trim() == how).map(|(name, _)| name.to_owned()).collect()
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn e2e_pjdfstest() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("pjdfstest");
    let work = cluster.root().join("pjdfstest");
    let (other, programs) = (work.join("other"), work.join("bin"));
    for dir in [&work, &other, &programs] {
        fs::create_dir(dir).unwrap();
    }
    // The suite calls `mount -o remount,ro`; without our helper in /sbin, `mount` is to do that by itself.
    fs::write(programs.join("mount"), "#!/bin/sh\nPATH=/usr/bin:/bin exec mount -i \"$@\"\n").unwrap();
    fs::set_permissions(programs.join("mount"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let suite = |allow_remount: bool| {
        let file = work.join(format!("{allow_remount}.toml"));
        fs::write(&file, config(&other, allow_remount)).unwrap();
        let mut suite = Command::new(binary::tool("pjdfstest", "0.2.2"));
        suite.arg("-c").arg(file).arg("-p").arg(&dir).env("PATH", &path).env("NO_COLOR", "1");
        suite.args(allow_remount.then_some(REMOUNTING));
        run(&mut suite, LIMIT)
    };
    let (main, remounting) = (suite(false), suite(true));
    let said = || format!("{}\n{}\n{}", main.describe(), remounting.describe(), cluster.logs(30));
    let of = |how| ended(&main, how).into_iter().chain(ended(&remounting, how)).collect::<BTreeSet<_>>();
    let passed = of("ok");
    println!("pjdfstest: {} cases passed in {:.1} s", passed.len(), (main.took + remounting.took).as_secs_f64());
    assert_eq!(of("FAILED"), names(CANNOT_PASS), "{}", said());
    let left_out: BTreeSet<String> = of("skipped").difference(&passed).cloned().collect();
    assert_eq!(left_out, names(LEFT_OUT), "{}", said());
    assert!(main.out.contains("Summary:") && remounting.ok() && passed.len() >= 397, "{}", said());
    let page = fs::read_to_string(binary::repository().join("docs/SEMANTICS.md")).unwrap();
    for name in CANNOT_PASS.iter().chain(LEFT_OUT) {
        assert!(page.contains(&format!("`{name}`")), "docs/SEMANTICS.md does not say why {name} cannot pass");
    }
    fs::remove_dir_all(&dir).unwrap();
}
