// SPDX-License-Identifier: Apache-2.0

//! The alert rules about resync and about drives for Prometheus, over made-up ones: a resync that comes to a stop, one that takes more than a day, one that is over; a disk that
//! fails and a drive set with all that can be wrong with one.

use super::dashboards::packaging;
use nyala_e2e::beside_others;
use nyala_e2e::cluster::text;
use nyala_e2e::run::run;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Runs the cases of a file; they find the rules that they are about.
fn check_rules(cases: &str) {
    let _lane = beside_others();
    let rules = text(&packaging().join("prometheus/nyala-alerts.yml"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cases.yml");
    let check = |rules: &str| {
        fs::write(&path, cases.replace("RULES", rules)).unwrap();
        run(Command::new("promtool").args(["test", "rules"]).arg(&path), Duration::from_secs(60))
    };
    check(&rules).must();
    // The test can fail: a rule that is not there is missed.
    assert!(!check(&rules.replace("nyala-alerts", "no-alerts")).ok());
}

#[test]
fn e2e_monitoring_rules_tell_of_resyncs() {
    check_rules(include_str!("resync_rules.yml"));
}

#[test]
fn e2e_monitoring_rules_tell_of_disks_and_drive_sets() {
    check_rules(include_str!("set_rules.yml"));
}
