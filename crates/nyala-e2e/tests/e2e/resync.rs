// SPDX-License-Identifier: Apache-2.0

//! A member that was away for a while is brought up to date with what changed and no more, while applications go on.

use crate::failures::members_are_equal;
use nyala_e2e::hosts::{Fault, Plan};
use nyala_e2e::{Hosts, alone, long, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const AWAY: Duration = Duration::from_secs(10);
/// What the writer does, MiB/s: little enough to be known, much enough to be copied for a while.
const WRITES: u64 = 30;
const FILE_MIB: u64 = 640;
/// Of what it was before, the issue promises so much, percent. In the short form other tests share two processors with this one, and
/// a few seconds are all that is measured.
const PROMISED: u64 = 80;
const SHORT_FORM: u64 = 50;

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// fio's job on one file; what it did is in a log with a line for each fifth of a second.
fn fio(hosts: &Hosts, name: &str, more: &[&str]) -> std::process::Child {
    let mut fio = Command::new("fio");
    let file = hosts.mount().join(name);
    fio.args([format!("--name={name}"), format!("--filename={}", file.display()), format!("--size={FILE_MIB}m")]);
    fio.arg(format!("--write_bw_log={}", hosts.root().join(name).display()));
    fio.args([
        "--log_avg_msec=200",
        "--log_unix_epoch=1",
        "--direct=1",
        "--time_based",
        "--runtime=1000",
        "--eta=never",
        "--thread",
    ]);
    std::os::unix::process::CommandExt::process_group(&mut fio, 0);
    fio.args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("fio runs")
}

/// Bytes per second between two times.
fn rate(root: &Path, name: &str, from_ms: u64, to_ms: u64) -> u64 {
    let text = fs::read_to_string(root.join(format!("{name}_bw.1.log"))).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split(',').map(|word| word.trim().parse::<u64>().unwrap_or(0));
        Some((words.next()?, words.next()?))
    };
    let inside = text.lines().filter_map(line).filter(|(at, _)| (from_ms..to_ms).contains(at));
    let (count, sum) = inside.fold((0, 0), |(count, sum), (_, kib)| (count + 1, sum + kib));
    assert!(count > 0, "{name} says nothing about {from_ms}..{to_ms}: {text}");
    sum * 1024 / count
}

fn member(hosts: &Hosts, target: u64) -> Value {
    let listed = hosts.ask(&["mirror", "resync", "stats", "--all"]);
    let rows: Value = serde_json::from_str(&listed.out).unwrap_or_default();
    rows.as_array().into_iter().flatten().find(|row| row["target"] == target).cloned().unwrap_or_default()
}

#[test]
fn e2e_what_changed_is_copied_while_applications_go_on() {
    let _one = alone();
    let mut hosts = Hosts::start(Plan { mirror: true, ..Plan::default() });
    for name in ["written", "read"] {
        let lay = format!("dd if=/dev/zero of={} bs=1M count={FILE_MIB}", hosts.mount().join(name).display());
        run::sh(&format!("{lay} conv=fsync status=none"), Duration::from_secs(120)).must();
    }
    let limit = format!("--rate={WRITES}m");
    let mut writer = fio(&hosts, "written", &["--rw=write", "--bs=1m", &limit]);
    let mut reader = fio(&hosts, "read", &["--rw=randread", "--bs=128k"]);
    // sleeps: rates are measured over this time
    std::thread::sleep(Duration::from_secs(9));
    let struck_ms = now_ms();
    hosts.strike("storage2", Fault::Killed);
    // sleeps: the host is away for so long
    std::thread::sleep(AWAY);
    hosts.heal("storage2");
    let healed = Instant::now();
    hosts.until("its resync runs", |hosts| member(hosts, 201)["state"] != "needs-resync");
    let begun_ms = now_ms();
    hosts.until("all is well again", Hosts::is_whole);
    let whole_ms = now_ms();
    let taken = member(&hosts, 201)["taken_bytes"].as_u64().unwrap_or_else(|| panic!("{}", hosts.logs(20)));
    // sleeps: the last line of the logs of rates
    std::thread::sleep(Duration::from_secs(1));
    for child in [&mut writer, &mut reader] {
        let ended = child.try_wait().expect("our own child can be waited for");
        assert!(ended.is_none(), "applications go on: {ended:?}");
        // Asked to, it writes its logs down.
        nyala_e2e::cleanup::signal(child.id() as i32, libc::SIGINT);
        assert!(run::wait(child, Duration::from_secs(30)).is_some(), "fio ends");
    }
    let root = hosts.root().to_path_buf();
    let both = |from, to| [rate(&root, "written", from, to), rate(&root, "read", from, to)];
    let (before, during) = (both(struck_ms - 5000, struck_ms), both(begun_ms, whole_ms.max(begun_ms + 600)));
    let written = rate(&root, "written", struck_ms, begun_ms) * (begun_ms - struck_ms) / 1000;
    let percent = (during[0] + during[1]) * 100 / (before[0] + before[1]);
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "written while it was away {} MiB, copied {} MiB of {} MiB; begun after {} ms, took {} ms; MiB/s written, read before {:?}, during {:?}: {percent} %",
        mib(written),
        mib(taken),
        2 * FILE_MIB,
        healed.elapsed().as_millis() as u64 - (now_ms() - begun_ms),
        whole_ms - begun_ms,
        before.map(mib),
        during.map(mib)
    );
    // Regions that were being written when it died are in question too: those of its last seconds.
    let in_question = (WRITES * 6) << 20;
    assert!(taken <= written * 11 / 10 + in_question, "{taken} bytes copied for {written} written");
    assert!(taken >= written * 8 / 10, "{taken} bytes copied for {written} written");
    members_are_equal(&mut hosts);
    hosts.assert_fsck_clean();
    let wanted = if long() { PROMISED } else { SHORT_FORM };
    assert!(percent >= wanted, "foreground I/O fell to {percent} %");
}
