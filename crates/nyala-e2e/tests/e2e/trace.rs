// SPDX-License-Identifier: Apache-2.0

//! `nyala trace`: the parts of operations, of all sides, add up to the whole.

use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Options, alone};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Microseconds of one operation, and the sum of its parts, without those of requests during others. Each part is there, and none is less than nothing.
fn sums(operation: &Value) -> (f64, f64) {
    let us = |value: &Value| value.as_f64().filter(|us| *us >= 0.0).unwrap_or_else(|| panic!("{operation:#}"));
    let requests = operation["requests"].as_array().unwrap();
    let (mut sum, mut upto) = (us(&operation["client_us"]) + us(&operation["queue_us"]), 0.0);
    for asked in requests {
        let parts = asked["parts"].as_array().unwrap();
        assert!(!parts.is_empty(), "nothing was recorded: {operation:#}");
        let (at, took) = (us(&asked["at_us"]), us(&asked["us"]));
        let all = us(&asked["network_us"]) + parts.iter().map(|part| us(&part["us"])).sum::<f64>();
        assert!((0.9..=1.1).contains(&(all / took)), "{all} of {took} µs: {operation:#}");
        sum += (at + took - f64::max(at, upto)).clamp(0.0, all);
        upto = f64::max(upto, at + took);
    }
    (us(&operation["whole_us"]), sum)
}

fn part_names(operation: &Value) -> Vec<&str> {
    let requests = operation["requests"].as_array().unwrap();
    let parts = requests.iter().flat_map(|asked| asked["parts"].as_array().unwrap());
    parts.filter_map(|part| part["name"].as_str()).collect()
}

/// The other member of the mirror group recorded its part, which adds up and lies within what the first one waited for mirrors.
fn member_is_seen(operation: &Value) {
    let first = &operation["requests"][0];
    let passed: Vec<&Value> = operation["passed_on"].as_array().unwrap().iter().collect();
    let passed = passed.into_iter().filter(|passed| passed["asked_by"] == first["service"]).collect::<Vec<_>>();
    assert!(!passed.is_empty(), "the other member is not seen: {operation:#}");
    let us = |value: &Value| value["us"].as_f64().unwrap();
    for passed in passed {
        assert!(passed["service"] != first["service"] && passed["message"] == "mirrors' change", "{operation:#}");
        let sum: f64 = passed["parts"].as_array().unwrap().iter().map(us).sum();
        assert!((0.9..=1.1).contains(&(sum / us(passed))), "{sum} of {} µs: {operation:#}", us(passed));
        // It works while the first one does its own copy.
        assert!(us(passed) <= us(first), "{operation:#}");
    }
}

#[test]
fn e2e_trace_parts_add_up() {
    let _one = alone();
    let more = vec!["--mirror".to_owned()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let dir = text(&cluster.test_dir("traced"));
    let operations = cluster.nyala(["trace", &dir, "--output", "json"]).must();
    let operations: Value = serde_json::from_str(&operations).unwrap();
    let operations = operations.as_array().unwrap();
    let names: Vec<&str> = operations.iter().filter_map(|one| one["operation"].as_str()).collect();
    assert_eq!(names, ["create", "write", "sync", "read", "stat", "unlink"]);
    for operation in operations {
        let (whole, sum) = sums(operation);
        assert!((0.9..=1.1).contains(&(sum / whole)), "{sum} of {whole} µs: {operation:#}");
    }
    let of = |name: &str| operations.iter().find(|one| one["operation"] == name).unwrap();
    assert!(of("create")["requests"][0]["service"].as_str().unwrap().starts_with("meta"), "{:#}", of("create"));
    // Its metadata is mirrored: an answer leaves when the other member has the record.
    assert!(part_names(of("create")).contains(&"mirrors"), "{:#}", of("create"));
    let write = of("write");
    for part in ["own copy", "mirrors"] {
        assert!(part_names(write).contains(&part), "{part}: {write:#}");
    }
    for operation in [of("create"), write] {
        member_is_seen(operation);
    }
    assert!(write["requests"][0]["service"].as_str().unwrap().starts_with("storage"), "{write:#}");
    assert!(part_names(of("read")).iter().any(|part| ["disk", "own copy"].contains(part)), "{:#}", of("read"));
    let left: Vec<_> = std::fs::read_dir(&dir).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let table = cluster.nyala(["trace", &dir, "--count", "1"]).must();
    assert!(
        table.contains("OPERATION")
            && table.contains("network")
            && table.contains("mirrors")
            && table.contains("(for storage"),
        "{table}"
    );
}

/// Makes files, and writes 4 KiB of one such that each write is on the disks when it returns, until it is told to stop.
fn work(dir: &Path, over: &AtomicBool) {
    #[repr(align(4096))]
    struct Aligned([u8; 4096]);
    let path = dir.join("data");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    let file = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(&path).unwrap();
    let block = Aligned([7; 4096]);
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        drop(fs::File::create_new(dir.join(format!("f{number}"))).unwrap());
        file.write_all_at(&block.0, number % 256 * 4096).unwrap();
    }
}

/// What programs do through a mount: the kernel's create and write are seen in the mount, at the services, and at their mirrors.
#[test]
fn e2e_trace_of_a_mount_adds_up() {
    let _one = alone();
    let more = vec!["--mirror".to_owned()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let (dir, over) = (cluster.test_dir("followed"), AtomicBool::new(false));
    let said = std::thread::scope(|scope| {
        scope.spawn(|| work(&dir, &over));
        let args = ["trace", &text(&cluster.mount()), "--mount", "--for", "3s", "--output", "json"];
        let said = cluster.nyala(args);
        over.store(true, Ordering::Relaxed);
        said.must()
    });
    let operations: Value = serde_json::from_str(&said).unwrap();
    let operations = operations.as_array().unwrap();
    let of = |name: &str| {
        operations.iter().find(|one| one["operation"] == name).unwrap_or_else(|| panic!("no {name}: {operations:#?}"))
    };
    for name in ["create", "write"] {
        let operation = of(name);
        let (whole, sum) = sums(operation);
        assert!((0.9..=1.1).contains(&(sum / whole)), "{sum} of {whole} µs: {operation:#}");
        assert!(operation["followed"].as_u64() > Some(3), "{operation:#}");
        assert!(!operation["passed_on"].as_array().unwrap().is_empty(), "no other member is seen: {operation:#}");
    }
    member_is_seen(of("create"));
    let services: Vec<&str> =
        of("write")["requests"].as_array().unwrap().iter().filter_map(|asked| asked["service"].as_str()).collect();
    assert!(services.iter().any(|service| service.starts_with("storage")), "{services:?}");
    assert!(part_names(of("write")).contains(&"mirrors"), "{:#}", of("write"));
    // Nobody else may, nothing is in a listing, and it is over.
    let listed =
        cluster.nyala(["trace", &text(&dir.join("data")), "--mount", "--for", "1s", "--output", "json"]).must();
    assert_eq!(listed.trim(), "[]");
    let args = ["-n", "system.nyala.trace", "-v", "1 1", &text(&dir)];
    assert!(!Command::new("setfattr").args(args).uid(12_345).status().unwrap().success());
}
