// SPDX-License-Identifier: Apache-2.0

//! The alert rules about resync for Prometheus, over made-up resyncs: one that comes to a stop, one that takes more than a day, one that is over.

use super::dashboards::packaging;
use nyala_e2e::beside_others;
use nyala_e2e::cluster::text;
use nyala_e2e::run::run;
use std::fs;
use std::process::Command;
use std::time::Duration;

#[test]
fn e2e_monitoring_rules_tell_of_resyncs() {
    let _lane = beside_others();
    let rules = text(&packaging().join("prometheus/nyala-alerts.yml"));
    let dir = tempfile::tempdir().unwrap();
    let cases = dir.path().join("resync.yml");
    fs::write(&cases, include_str!("resync_rules.yml").replace("RULES", &rules)).unwrap();
    let check = |cases: &std::path::Path| {
        run(Command::new("promtool").args(["test", "rules"]).arg(cases), Duration::from_secs(60))
    };
    check(&cases).must();
    // The test can fail: a rule that is not there is missed.
    let other = rules.replace("nyala-alerts", "no-alerts");
    fs::write(&cases, include_str!("resync_rules.yml").replace("RULES", &other)).unwrap();
    assert!(!check(&cases).ok());
}
