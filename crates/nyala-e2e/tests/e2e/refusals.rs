// SPDX-License-Identifier: Apache-2.0

//! What must not start or go on is refused with a clear sentence and an exit code, and nothing is lost by it.

use crate::layout::target_dirs;
use nyala_e2e::cluster::text;
use nyala_e2e::hosts::DETACH;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::{Outcome, run, sh};
use nyala_e2e::{Cluster, Options, alone, beside_others, binary};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A refusal ends soon, with a code other than 0, and says each of these words; one sentence, not a stack trace.
#[track_caller]
fn refused(what: &str, outcome: &Outcome, words: &[&str]) {
    assert!(outcome.code().is_some_and(|code| code != 0), "{what} was not refused: {}", outcome.describe());
    assert!(outcome.took < Duration::from_secs(45), "{what}: {}", outcome.describe());
    let said = format!("{}{}", outcome.err, outcome.out);
    for word in words {
        assert!(
            said.to_lowercase().contains(&word.to_lowercase()),
            "{what}: {word:?} is not said: {}",
            outcome.describe()
        );
    }
    assert!(!said.contains("panicked"), "{what}: {}", outcome.describe());
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    println!("{what}: exit {}, {line}", outcome.code().unwrap_or_default());
}

/// Runs a service in the foreground, as a supervisor would, for as long as a refusal may take.
fn service(args: &[&str]) -> Outcome {
    run(Command::new(binary::nyala()).args(args), Duration::from_secs(40))
}

fn conf(cluster: &Cluster, name: &str) -> String {
    text(&cluster.dir().join("conf").join(format!("{name}.toml")))
}

fn fill(cluster: &Cluster) {
    let dir = cluster.test_dir("precious");
    for number in 0..60 {
        fs::write(dir.join(format!("f{number}")), pattern(number, number as usize * 20_000)).unwrap();
    }
}

#[track_caller]
fn nothing_lost(cluster: &Cluster) {
    cluster.wait_healthy();
    for number in 0..60 {
        let path = cluster.mount().join(format!("precious/f{number}"));
        let got = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(got == pattern(number, number as usize * 20_000), "{}", path.display());
    }
}

fn small() -> Options {
    Options { meta: 1, storage: 1, storage_services: 1, ..Options::default() }
}

#[test]
fn e2e_refusals() {
    let _one = beside_others();
    let cluster = Cluster::start(Options::default());
    let other = Cluster::start(small());
    fill(&cluster);
    other.down().must();
    secrets(&cluster, &other);
    directories(&cluster, &other);
    configurations(&cluster);
    ports(&cluster);
    no_fuse(&cluster);
    command_lines(&cluster);
    nothing_lost(&cluster);
    other.up().must();
    other.wait_healthy();
}

fn secrets(cluster: &Cluster, other: &Cluster) {
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let point = cluster.root().join("refused");
    fs::create_dir(&point).unwrap();
    let mount = |secret: &Path| service(&["mount", &source, &text(&point), "-o", &format!("secret={}", text(secret))]);
    let theirs = other.dir().join("secret");
    refused("mount with another cluster's secret", &mount(&theirs), &["secret"]);
    refused("mount without a secret file", &mount(&cluster.root().join("no-such-file")), &["no-such-file"]);
    let open = cluster.root().join("open-secret");
    fs::copy(cluster.dir().join("secret"), &open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    refused("mount with a secret that others can read", &mount(&open), &["open-secret"]);
    let short = cluster.root().join("short-secret");
    fs::write(&short, b"abc\n").unwrap();
    fs::set_permissions(&short, Permissions::from_mode(0o600)).unwrap();
    refused("mount with a cut secret", &mount(&short), &["short-secret"]);
    assert!(nyala_e2e::cleanup::mounts_below(&point).is_empty(), "nothing was mounted by the refused");

    for (role, name) in [("meta", "meta2"), ("storage", "storage2")] {
        cluster.stop_service(name);
        let outcome = service(&[role, "--config", &conf(cluster, name), "--secret", &text(&theirs)]);
        refused(&format!("{name} with another cluster's secret"), &outcome, &["secret"]);
        cluster.start_service(name);
    }
    nothing_lost(cluster);
}

fn directories(cluster: &Cluster, other: &Cluster) {
    let (_, their_target) = target_dirs(other).remove(0);
    cluster.stop_service("storage2");
    let own = target_dirs(cluster).into_iter().find(|(_, dir)| dir.to_string_lossy().contains("storage2")).unwrap().1;
    let outcome = service(&["storage", "--config", &conf(cluster, "storage2"), "--target", &text(&their_target)]);
    refused("a storage target of another cluster", &outcome, &["cluster", &text(&their_target)]);
    let foreign = cluster.root().join("somebody's photos");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("photo"), b"x").unwrap();
    let outcome = service(&["storage", "--config", &conf(cluster, "storage2"), "--target", &text(&foreign)]);
    refused("a directory with other things as a target", &outcome, &["photos", "empty"]);
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1, "it was left alone");
    let outcome =
        service(&["storage", "--config", &conf(cluster, "storage2"), "--target", &format!("{},id=999", text(&own))]);
    refused("a target with another id than configured", &outcome, &["999"]);
    cluster.start_service("storage2");

    cluster.stop_service("meta2");
    let theirs = text(&other.dir().join("meta1"));
    let outcome = service(&["meta", "--config", &conf(cluster, "meta2"), "--dir", &theirs]);
    refused("a metadata directory of another cluster", &outcome, &["cluster"]);
    let in_use = text(&cluster.dir().join("meta1"));
    let outcome = service(&["meta", "--config", &conf(cluster, "meta2"), "--dir", &in_use]);
    refused("a metadata directory that another process uses", &outcome, &["use"]);
    cluster.start_service("meta2");
    nothing_lost(cluster);
}

fn configurations(cluster: &Cluster) {
    let path = PathBuf::from(conf(cluster, "storage2"));
    let good = fs::read(&path).unwrap();
    cluster.stop_service("storage2");
    let cut = good.len() - good.iter().rev().position(|byte| *byte == b'"').unwrap() - 3;
    let cases: [(&str, Vec<u8>, &[&str]); 5] = [
        ("a truncated config", good[..cut].to_vec(), &["storage2.toml", "line"]),
        ("an empty config", Vec::new(), &["target"]),
        ("a program as config", fs::read("/bin/true").unwrap(), &["storage2.toml"]),
        ("another program's config", b"[mysqld]\nport = 3306\n".to_vec(), &["storage2.toml", "mysqld"]),
        (
            "an unknown key",
            [b"colour = \"green\"\n".as_slice(), good.as_slice()].concat(),
            &["storage2.toml", "colour", "line 1"],
        ),
    ];
    for (what, bytes, words) in cases {
        fs::write(&path, bytes).unwrap();
        refused(what, &service(&["storage", "--config", &text(&path)]), words);
        let started = cluster.nyala(["start", "storage2", "--dir", &text(&cluster.dir())]);
        refused(&format!("`start` with {what}"), &started, words);
        if what != "an empty config" {
            refused(&format!("`config check` of {what}"), &service(&["config", "check", &text(&path)]), words);
        }
    }
    fs::write(&path, good).unwrap();
    cluster.nyala(["config", "check", &text(&path)]).must();
    cluster.start_service("storage2");
    nothing_lost(cluster);
}

fn ports(cluster: &Cluster) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (role, name) in [("storage", "storage2"), ("meta", "meta2"), ("mgmtd", "mgmt")] {
        cluster.stop_service(name);
        let outcome = service(&[role, "--config", &conf(cluster, name), "--listen", &address]);
        refused(&format!("{name} on a port in use"), &outcome, &[&address, "in use"]);
        cluster.start_service(name);
    }
    nothing_lost(cluster);
}

/// `nyala mount` in a mount namespace of its own whose /dev has everything but fuse.
fn no_fuse(cluster: &Cluster) {
    let point = cluster.root().join("no-fuse");
    fs::create_dir(&point).unwrap();
    let script = format!(
        "{DETACH}mount -t tmpfs none /dev; mknod /dev/null c 1 3; mknod /dev/urandom c 1 9; mknod /dev/random c 1 8; \
         exec '{}' mount 127.0.0.1:{}:/ '{}' -o secret='{}'",
        binary::nyala().display(),
        cluster.port(),
        text(&point),
        text(&cluster.dir().join("secret")),
    );
    let outcome = run(Command::new("unshare").args(["-m", "sh", "-euc", &script]), Duration::from_secs(40));
    refused("mount without /dev/fuse", &outcome, &["/dev/fuse"]);
    nothing_lost(cluster);
}

fn command_lines(cluster: &Cluster) {
    let dir = text(&cluster.dir());
    let mount = text(&cluster.mount());
    refused("a service that is not there", &cluster.nyala(["start", "storage9", "--dir", &dir]), &["storage9"]);
    refused("a cluster that is not there", &cluster.nyala(["status", "--dir", "/nonexistent"]), &["/nonexistent"]);
    refused("entry info of nothing", &cluster.nyala(["entry", "info", &format!("{mount}/none")]), &["none"]);
    refused("entry info outside", &cluster.nyala(["entry", "info", "/etc/passwd"]), &["/etc/passwd"]);
    let set = |chunk: &str| cluster.nyala(["entry", "set", "--chunk-size", chunk, &mount]);
    refused("a chunk size that is no power of two", &set("1000000"), &["power of two"]);
    refused("a chunk size that is no number", &set("large"), &["large"]);
    refused(
        "a mount option mistyped",
        &cluster.nyala(["mount", "127.0.0.1:/", "/mnt", "-o", "readonly"]),
        &["readonly"],
    );
    refused("an unknown command", &cluster.nyala(["frobnicate"]), &["frobnicate"]);
}

/// A target whose file system is full (64 MiB, on a loop device): writes fail with ENOSPC, what was there stays, and
/// after a removal there is room again. Also: a target that was moved to another file system is refused until its owner
/// says that it was on purpose, as the message tells.
#[test]
fn e2e_refusals_full_target() {
    let _one = alone();
    let cluster = Cluster::start(small());
    fill(&cluster);
    cluster.down().must();
    let (_, target) = target_dirs(&cluster).remove(0);
    let image = cluster.root().join("disk.img");
    let script = format!(
        "truncate -s 110M '{image}'; mkfs.ext4 -q -m 0 '{image}'; mv '{target}' '{target}.moved'; mkdir '{target}'; \
         mount -o loop '{image}' '{target}'; rmdir '{target}/lost+found'; cp -a '{target}.moved/.' '{target}/'",
        image = text(&image),
        target = text(&target)
    );
    sh(&script, Duration::from_secs(60)).must();
    refused("a target moved to another file system", &cluster.up(), &["file system", "target.toml"]);
    let identity = target.join("target.toml");
    let mended: String = fs::read_to_string(&identity)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with("file_system"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&identity, mended).unwrap();
    cluster.up().must();
    nothing_lost(&cluster);
    full(&cluster);
    nothing_lost(&cluster);
    cluster.down().must();
    cluster.up().must();
    nothing_lost(&cluster);
}

fn full(cluster: &Cluster) {
    let dir = cluster.test_dir("full");
    let mut written = 0;
    let mut refusal = None;
    'fill: for number in 0..400_u64 {
        let path = dir.join(format!("f{number}"));
        let result = OpenOptions::new().write(true).create_new(true).open(&path).and_then(|mut file| {
            file.write_all(&pattern(number, 1 << 20))?;
            file.sync_all()
        });
        match result {
            Ok(()) => written += 1,
            Err(error) => {
                refusal = Some(error);
                break 'fill;
            }
        }
    }
    let refusal = refusal.expect("a full target refuses a write");
    assert_eq!(refusal.raw_os_error(), Some(libc::ENOSPC), "after {written} MiB: {refusal}");
    assert!(written > 10, "only {written} MiB went in");
    for number in 0..written {
        assert!(
            fs::read(dir.join(format!("f{number}"))).unwrap() == pattern(number, 1 << 20),
            "f{number} was fsynced before it was full"
        );
    }
    nothing_lost(cluster);
    for number in 0..written / 2 {
        fs::remove_file(dir.join(format!("f{number}"))).unwrap();
    }
    let began = std::time::Instant::now();
    loop {
        let result = fs::File::create(dir.join("again")).and_then(|mut file| {
            file.write_all(&pattern(7777, 4 << 20))?;
            file.sync_all()
        });
        match result {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::ENOSPC), "{error}");
                assert!(began.elapsed() < Duration::from_secs(30), "no room 30 s after half was removed");
                // sleeps: between two looks
                std::thread::sleep(Duration::from_millis(300));
            }
        }
    }
    assert!(fs::read(dir.join("again")).unwrap() == pattern(7777, 4 << 20));
}
