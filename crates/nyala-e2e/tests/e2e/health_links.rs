// SPDX-License-Identifier: Apache-2.0

//! What `nyala health check` names that no service says of itself: a client that does not let go of a file, an address of a server that
//! another one does not reach any more, and one that comes and goes. Named in time, with both ends and where; gone when its cause is.
//!
//! Failure model: nobody is offline meanwhile, and all goes on by other ways; so nothing but the finding tells.

use nyala_e2e::hosts::Plan;
use nyala_e2e::{Hosts, beside_others, cleanup};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

/// How soon something has to be named.
const NAMED: Duration = Duration::from_secs(10);
/// How soon it has to be gone with its cause; a link that came and went has to be calm for half a minute first.
const GONE: Duration = Duration::from_secs(10);
const CALM: Duration = Duration::from_secs(45);

/// Sentences about what is wrong, and what to do about each.
fn findings(hosts: &Hosts) -> Vec<(String, String)> {
    let asked = hosts.ask(&["health", "check"]);
    let health: Value =
        serde_json::from_str(&asked.out).unwrap_or_else(|error| panic!("{error}: {}", asked.describe()));
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let all = health["findings"].as_array().cloned().unwrap_or_default();
    all.iter().map(|finding| (text(finding, "what"), text(finding, "advice"))).collect()
}

/// Waits for a finding that has all of these words, and returns it with how long that took.
fn named(hosts: &Hosts, words: &[&str], within: Duration) -> (String, String) {
    let began = Instant::now();
    loop {
        let all = findings(hosts);
        let found = all.iter().find(|(what, _)| words.iter().all(|word| what.contains(word)));
        if let Some((what, advice)) = found {
            println!("named after {:.1} s: {what}\n  {advice}", began.elapsed().as_secs_f64());
            return (what.clone(), advice.clone());
        }
        assert!(began.elapsed() < within, "not named after {within:?}: {words:?} in {all:#?}\n{}", hosts.logs(20));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Waits until nothing is wrong.
fn all_well(hosts: &Hosts, within: Duration) {
    let began = Instant::now();
    loop {
        let all = findings(hosts);
        if all.is_empty() {
            println!("all is well after {:.1} s", began.elapsed().as_secs_f64());
            return;
        }
        assert!(began.elapsed() < within, "still after {within:?}: {all:#?}\n{}", hosts.logs(20));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// A process that stands still until this is dropped: also when a check fails, for what waits for it would wait for ever.
struct Stopped(i32);

impl Stopped {
    fn at(process: i32) -> Stopped {
        cleanup::signal(process, libc::SIGSTOP);
        Stopped(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        cleanup::signal(self.0, libc::SIGCONT);
    }
}

#[test]
fn e2e_health_names_a_client_that_does_not_answer() {
    let _one = beside_others();
    let hosts = Hosts::start(Plan { storage: 1, clients: 2, ..Plan::default() });
    let mut file = File::create(hosts.mount_of("client2").join("held")).expect("the second mount makes a file");
    file.write_all(&[b'x'; 100_000]).expect("and takes data");
    // The mount holds on to it after that. Were it open here, every command that this test runs would wait for the mount: who starts
    // another program closes it in the copy of this process, and a close is told to the mount.
    drop(file);
    all_well(&hosts, GONE);
    let wanted = hosts.mount().join("held");
    let stopped = Stopped::at(hosts.pid("client2"));
    let reader = std::thread::spawn(move || fs::read(wanted).map(|data| data.len()));
    let (what, advice) = named(&hosts, &["client ", "mnt-client2", "has not answered meta node"], NAMED);
    assert!(what.contains("operations of others on 1 file or directory wait"), "{what}");
    assert!(advice.contains("session ends 30 s after"), "{advice}");
    assert!(!reader.is_finished(), "what others do waits");
    drop(stopped);
    all_well(&hosts, GONE);
    assert_eq!(reader.join().expect("no panic").expect("it can be read"), 100_000);
    hosts.assert_fsck_clean();
}

#[test]
fn e2e_health_names_a_lost_rail_and_a_link_that_comes_and_goes() {
    let _one = beside_others();
    let hosts = Hosts::start(Plan { storage: 2, rails: true, ..Plan::default() });
    all_well(&hosts, GONE);
    // Every address has to have answered once.
    // sleeps: every address has answered once by then
    std::thread::sleep(Duration::from_secs(3));
    let at = |name: &str, port: u16| format!("{}:{port}", hosts.second_address(name));
    let (meta, storage) = (at("meta1", 8005), at("storage1", 8003));

    hosts.lose_rail("meta1", "storage1");
    let (what, advice) = named(&hosts, &["meta node", "has not reached storage node", &storage], NAMED);
    assert!(what.contains("it does at 10.77.0.") && advice.contains("ip -s link"), "{what}: {advice}");
    named(&hosts, &["storage node", "has not reached meta node", &meta], NAMED);
    let all = findings(&hosts);
    assert!(all.iter().all(|(what, _)| what.contains(&storage) || what.contains(&meta)), "nobody else: {all:#?}");
    hosts.mend_way("storage1");
    all_well(&hosts, GONE);

    // It was lost once; some more times within the minute are too many.
    for _ in 0..4 {
        hosts.lose_rail("meta1", "storage1");
        // sleeps: the rail is lost for so long
        std::thread::sleep(Duration::from_secs(4));
        hosts.mend_way("storage1");
        // sleeps: and there for so long
        std::thread::sleep(Duration::from_secs(4));
    }
    named(&hosts, &["the link from meta node", "storage node", &storage, "comes and goes"], NAMED);
    all_well(&hosts, CALM);
    hosts.assert_fsck_clean();
}
