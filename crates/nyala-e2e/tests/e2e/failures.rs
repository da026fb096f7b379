// SPDX-License-Identifier: Apache-2.0

//! Hosts that fail while applications work: nobody sees an error, the longest pause is short, nothing acknowledged is lost.

use nyala_e2e::hosts::{Disks, Fault, Plan, equal};
use nyala_e2e::latency_probe::{Beat, beats, now_ms};
use nyala_e2e::{Hosts, alone, beside_others, cluster, load, long, run};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What the issue promises, with the default settings.
const KILLED_MS: u64 = 1000;
const VANISHED_MS: u64 = 5000;

/// What the latency probe does.
const KINDS: [&str; 3] = ["meta", "write", "read"];
const FAULTS: [Fault; 4] = [Fault::Killed, Fault::Stopped, Fault::Cut, Fault::PoweredOff];

/// fio with verification, the checked load and the latency probe, all at once.
pub struct Work {
    probe: Child,
    checked: Child,
    fio: Child,
    out: PathBuf,
    stop: PathBuf,
    dir: PathBuf,
    journals: PathBuf,
    logs: PathBuf,
}

impl Work {
    pub fn start(hosts: &Hosts) -> Work {
        let root = hosts.root();
        let (out, stop, logs) = (root.join("beats"), root.join("stop"), root.join("work-logs"));
        let (dir, journals, fio_dir) = (hosts.mount().join("load"), root.join("journals"), hosts.mount().join("fio"));
        for dir in [&dir, &journals, &fio_dir, &logs] {
            fs::create_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        }
        let spawn = |command: &mut Command, name: &str| {
            let log = File::create(logs.join(name)).expect("the test's directory takes files");
            let both = log.try_clone().expect("a descriptor can be duplicated");
            std::os::unix::process::CommandExt::process_group(command, 0);
            command.stdout(log).stderr(both).spawn().unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let mut probe = Command::new(cluster::sibling("nyala-e2e-latency-probe"));
        let probe = spawn(probe.args([&hosts.mount().join("latency-probe"), &out, &stop]), "latency-probe");
        let mut checked = Command::new(cluster::sibling("nyala-e2e-load"));
        let checked = spawn(checked.args([&dir, &journals, &stop]), "checked");
        // Slow enough to leave the machine room; it verifies what it wrote all the time and ends with the test.
        let mut fio = Command::new("fio");
        fio.arg(format!("--directory={}", fio_dir.display()));
        fio.args(["--name=verify", "--rw=randwrite", "--bs=32k", "--size=16m", "--rate=4m", "--time_based"]);
        fio.args(["--runtime=100000", "--verify=crc32c", "--verify_fatal=1", "--verify_backlog=64", "--fsync=32"]);
        // A job of a process of its own is in a session of its own, and lives on when the group is killed.
        let fio = spawn(fio.args(["--verify_state_save=0", "--eta=never", "--thread"]), "fio");
        Work { probe, checked, fio, out, stop, dir, journals, logs }
    }

    /// The longest operation that ended since, without what the machine itself stood still during it.
    pub fn longest_since(&self, from_ms: u64) -> (u64, Beat) {
        let longest = longest_since(&beats(&self.out), from_ms);
        longest.unwrap_or_else(|| panic!("the load did nothing since\n{}", self.said()))
    }

    /// Waits until every kind of operation that begins from now on has been seen to end: what is under way longest counts.
    pub fn goes_on(&self, hosts: &Hosts) {
        let (from_ms, began) = (now_ms(), Instant::now());
        let ended = |kind: &str| beats(&self.out).iter().any(|beat| beat.kind == kind && beat.began_ms >= from_ms);
        while let Some(kind) = KINDS.iter().find(|kind| !ended(kind)) {
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(60), "no {kind} for {waited:?}\n{}\n{}", self.said(), hosts.logs(30));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn no_errors(&mut self, hosts: &Hosts, when: &str) {
        let wrong: Vec<Beat> = beats(&self.out).into_iter().filter(|beat| !beat.error.is_empty()).collect();
        assert!(wrong.is_empty(), "{when}: applications saw errors: {wrong:?}\n{}", hosts.logs(30));
        let said = self.said();
        for (name, child) in [("latency-probe", &mut self.probe), ("load", &mut self.checked), ("fio", &mut self.fio)] {
            let ended = child.try_wait().expect("our own child can be waited for");
            assert!(ended.is_none(), "{when}: {name} ended: {ended:?}\n{said}\n{}", hosts.logs(30));
        }
    }

    fn said(&self) -> String {
        let of = |name| run::tail(&fs::read_to_string(self.logs.join(name)).unwrap_or_default(), 12);
        format!("latency probe: {}\nload: {}\nfio: {}", of("latency-probe"), of("checked"), of("fio"))
    }

    /// Ends the load and compares everything that was acknowledged.
    pub fn finish(&mut self, hosts: &Hosts) {
        self.no_errors(hosts, "at the end");
        fs::write(&self.stop, b"").expect("the test's directory takes files");
        run::kill_group(&mut self.fio);
        let said = self.said();
        for child in [&mut self.probe, &mut self.checked] {
            let status = run::wait(child, Duration::from_secs(60));
            assert!(status.is_some_and(|s| s.success()), "{status:?}\n{said}\n{}", hosts.logs(30));
        }
        let verified = load::verify(&self.dir, &self.journals, false);
        println!("{} files, {} removals, {} blocks compared", verified.files, verified.removals, verified.blocks);
        assert!(verified.files > 10 && verified.blocks > 10, "the load did something: {verified:?}");
        assert!(verified.wrong.is_empty(), "{:#?}", &verified.wrong[..verified.wrong.len().min(20)]);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        for child in [&mut self.probe, &mut self.checked, &mut self.fio] {
            if child.try_wait().is_ok_and(|status| status.is_none()) {
                run::kill_group(child);
            }
        }
    }
}

/// The longest operation that ended since `from_ms`, and how long it took without those parts of it in which the machine
/// stood still: a standstill before or after it excuses nothing.
fn longest_since(beats: &[Beat], from_ms: u64) -> Option<(u64, Beat)> {
    let end = |beat: &Beat| beat.began_ms + beat.took_ms;
    let overlap = |a: &Beat, b: &Beat| end(a).min(end(b)).saturating_sub(a.began_ms.max(b.began_ms));
    let still: Vec<&Beat> = beats.iter().filter(|beat| beat.kind == "machine").collect();
    let own = |beat: &Beat| beat.took_ms.saturating_sub(still.iter().map(|still| overlap(beat, still)).sum());
    let timed = beats.iter().filter(|beat| KINDS.contains(&beat.kind.as_str()) && end(beat) >= from_ms);
    timed.map(|beat| (own(beat), beat.clone())).max_by_key(|(own_ms, _)| *own_ms)
}

#[test]
fn e2e_only_standstills_within_a_pause_are_taken_off_it() {
    let beat = |kind: &str, began_ms, took_ms| Beat { kind: kind.into(), began_ms, took_ms, error: String::new() };
    let still = [beat("machine", 100, 900), beat("machine", 2900, 200), beat("machine", 9000, 5000)];
    let all = |of: Beat| [still.as_slice(), &[of, beat("read", 2000, 10)]].concat();
    let longest = |of: Beat| longest_since(&all(of), 1500).map(|(own_ms, beat)| (own_ms, beat.kind));
    assert_eq!(longest(beat("write", 2000, 1000)), Some((900, "write".into())));
    assert_eq!(longest(beat("meta", 3200, 700)), Some((700, "meta".into())));
    assert_eq!(longest(beat("write", 200, 800)), Some((10, "read".into())), "it ended before");
    assert_eq!(longest(beat("write", 8900, 5200)), Some((200, "write".into())));
}

/// What happens to which storage host: in the long form each fault to each, several times; in the short form each fault once.
fn storage_faults(hosts: &Hosts, rounds: usize) -> Vec<(String, Fault)> {
    let names = hosts.storage_names();
    if !long() {
        return names.into_iter().cycle().zip(FAULTS).collect();
    }
    let each = names.iter().flat_map(|name| FAULTS.map(|fault| (name.clone(), fault)));
    std::iter::repeat_n(each, rounds).flatten().collect()
}

/// The longest pause that the issue allows.
fn limit_ms(fault: Fault) -> u64 {
    if fault == Fault::Killed { KILLED_MS } else { VANISHED_MS }
}

/// One fault of one host: strike, look for a while, heal, wait until all is well again. What lasted longer than allowed, if
/// something did.
fn one_fault(
    hosts: &mut Hosts,
    work: &mut Work,
    (name, fault): (&str, Fault),
    away: Duration,
    limit: u64,
) -> Option<String> {
    let from_ms = now_ms();
    hosts.strike(name, fault);
    // sleeps: the host is away for so long
    std::thread::sleep(away);
    hosts.heal(name);
    hosts.until("all is well again", Hosts::is_whole);
    work.goes_on(hosts);
    work.no_errors(hosts, &format!("{name} {fault:?}"));
    let (pause_ms, worst) = work.longest_since(from_ms);
    let line = format!("{name} {fault:?}: longest pause {pause_ms} ms ({}, of {} ms)", worst.kind, worst.took_ms);
    println!("{line}");
    (pause_ms > limit).then(|| format!("{line}; allowed are {limit} ms"))
}

/// Whoever leads the management, in each way that a host can fail: nobody notices, since leases outlive a leader.
#[test]
fn e2e_management_leader_fails() {
    let _one = alone();
    let mut hosts = Hosts::start(Plan { mgmt: 3, disks: Disks::Xfs, ..Plan::default() });
    let mut work = Work::start(&hosts);
    // sleeps: the load is under way
    std::thread::sleep(Duration::from_secs(2));
    let mut late = Vec::new();
    for _ in 0..if long() { 3 } else { 1 } {
        for fault in FAULTS {
            let leader = hosts.leader();
            // Long enough to see the pause end, and work without the host.
            let away = Duration::from_millis(limit_ms(fault) + 1500);
            late.extend(one_fault(&mut hosts, &mut work, (&leader, fault), away, limit_ms(fault)));
        }
    }
    work.finish(&hosts);
    hosts.assert_fsck_clean();
    assert!(late.is_empty(), "{late:#?}");
}

/// Without mirrors, files with data on a host wait for it, whatever happened to it but a power cut, and go on where they were: the pause is as
/// long as the host is away, and what a cluster needs to find it again.
#[test]
fn e2e_storage_host_fails_without_mirror() {
    let _one = alone();
    let mut hosts = Hosts::start(Plan::default());
    let mut work = Work::start(&hosts);
    // sleeps: the load is under way
    std::thread::sleep(Duration::from_secs(2));
    let mut late = Vec::new();
    // A power cut loses what was not synced, and this load expects all of it: `power` has the model for that.
    let lossless = |(_, fault): &(String, Fault)| *fault != Fault::PoweredOff;
    for (name, fault) in storage_faults(&hosts, 1).into_iter().filter(lossless) {
        let away = Duration::from_secs(4);
        let limit = away.as_millis() as u64 + VANISHED_MS;
        late.extend(one_fault(&mut hosts, &mut work, (&name, fault), away, limit));
    }
    work.finish(&hosts);
    hosts.assert_fsck_clean();
    assert!(late.is_empty(), "{late:#?}");
}

/// Each storage server in each way: nobody sees an error, pauses are short, nothing is lost, both members are equal in the end.
#[test]
fn e2e_mirrored_storage_host_fails() {
    let _one = alone();
    let mut hosts = Hosts::start(Plan { mirror: true, disks: Disks::Xfs, ..Plan::default() });
    let mut work = Work::start(&hosts);
    // sleeps: the load is under way
    std::thread::sleep(Duration::from_secs(2));
    let mut late = Vec::new();
    for (name, fault) in storage_faults(&hosts, 3) {
        let away = Duration::from_millis(limit_ms(fault) + 1500);
        late.extend(one_fault(&mut hosts, &mut work, (&name, fault), away, limit_ms(fault)));
    }
    work.finish(&hosts);
    members_are_equal(&mut hosts);
    hosts.assert_fsck_clean();
    assert!(late.is_empty(), "{late:#?}");
}

/// Waits until nothing is written any more, then compares both members byte for byte.
pub fn members_are_equal(hosts: &mut Hosts) {
    hosts.until("all members are good", Hosts::is_whole);
    // sleeps: what was written last is at both members
    std::thread::sleep(Duration::from_secs(2));
    let compared = equal::compare(&hosts.target("storage1"), &hosts.target("storage2"));
    println!("{} chunk files with {} bytes on both members", compared.files, compared.bytes);
    assert!(compared.bytes > 1 << 20, "there is something to compare: {compared:?}");
    assert!(compared.different.is_empty(), "{:#?}", &compared.different[..compared.different.len().min(20)]);
}

/// Both members go, one after the other. The first one lost comes back first: it lacks what was written since, so that I/O
/// waits, and the health message says for whom. When the last one comes back, it goes on, with nothing lost.
#[test]
fn e2e_only_the_last_good_member_serves() {
    let _one = beside_others();
    let mut hosts = Hosts::start(Plan { mirror: true, ..Plan::default() });
    let file = hosts.mount().join("file");
    let dd = |what: &str, to: &std::path::Path, limit: u64| {
        let script = format!("printf '%s' {what} | dd of={} bs=64k conv=fsync status=none", to.display());
        run::sh(&script, Duration::from_secs(limit))
    };
    let padded = |word: &str| word.repeat(2000);
    let write = |word: &str| drop(dd(&padded(word), &file, 30).must());
    let other = hosts.mount().join("other");
    drop(dd(&padded("zero"), &other, 30).must());
    write("first");
    hosts.strike("storage1", Fault::Killed);
    write("second");
    hosts.strike("storage2", Fault::Killed);
    hosts.heal("storage1");
    // sleeps: it must not serve in that time
    std::thread::sleep(Duration::from_secs(4));
    let early = dd(&padded("third"), &other, 4);
    assert!(early.status.is_none(), "it waits for the one that has everything: {}", early.describe());
    let health = hosts.ask(&["health", "check"]);
    assert!(health.out.contains("waits for target 201, its last good member"), "{}", health.describe());
    hosts.heal("storage2");
    let read = format!("dd if={} iflag=direct bs=64k status=none", file.display());
    assert_eq!(run::sh(&read, Duration::from_secs(30)).must(), padded("second"));
    hosts.until("all members are good", Hosts::is_whole);
    hosts.assert_fsck_clean();
}
