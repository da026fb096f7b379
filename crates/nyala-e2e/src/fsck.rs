// SPDX-License-Identifier: Apache-2.0

//! `nyala fsck` after whatever a test did to a cluster: a failure that nobody saw as an error may still have left names, inodes and
//! chunk files that do not fit together.
//!
//! Failure model: removals, transactions and the ends of sessions may be under way still when the check begins; fsck itself looks at
//! everything again that looks wrong. A check that does not end, or does not reach a target, fails the test like a finding.

use crate::hosts::Hosts;
use crate::{Cluster, Outcome};
use serde_json::Value;

/// What looks wrong is looked at again after so long.
const GRACE: &str = "2s";
/// What a client that died may leave at storage: it had written there, and metadata was not told yet.
pub const OF_DEAD_CLIENTS: [&str; 2] = ["chunk-beside-inline", "chunk-excess"];

/// What a power cut of storage may leave of files that are not mirrored: no data where some was written and not synced. It looks like a
/// hole, and nothing can be done about it.
const OF_POWER_CUTS: &str = "chunk-missing";

/// What a check of a cluster reports.
#[derive(Debug)]
pub struct Report {
    /// As `--output json` prints it.
    pub json: Value,
    told: String,
}

impl Report {
    /// Reads it; whatever the exit code says of it.
    #[track_caller]
    pub fn of(outcome: &Outcome) -> Report {
        let told = outcome.describe();
        let json = serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {told}"));
        Report { json, told }
    }

    /// Rows of one of its lists.
    pub fn rows(&self, list: &str) -> &[Value] {
        self.json[list].as_array().map_or(&[], Vec::as_slice)
    }

    /// Why it is not what it has to be: nothing but `allowed` classes of findings, everything looked at and settled.
    fn objection(&self, allowed: &[&str]) -> Option<String> {
        let is_allowed = |found: &&Value| found["class"].as_str().is_some_and(|class| allowed.contains(&class));
        let found: Vec<&Value> = self.rows("findings").iter().filter(|found| !is_allowed(found)).collect();
        let open = [self.rows("unsettled"), self.rows("unchecked")].concat();
        // The root is always there.
        let looked = self.json["inodes"].as_u64().is_some_and(|count| count > 0);
        if found.is_empty() && open.is_empty() && looked && self.json["more"] == 0 {
            return None;
        }
        Some(format!("found: {found:#?}, unsettled or unchecked: {open:#?}\n{}", self.told))
    }
}

/// Demands that a check finds nothing but `allowed` classes; those it has to be able to repair. `fsck` runs it with these arguments.
#[track_caller]
fn demand(fsck: impl Fn(&[&str]) -> Outcome, logs: impl Fn() -> String, allowed: &[&str]) {
    let report = Report::of(&fsck(&["fsck", "--grace", GRACE]));
    if let Some(why) = report.objection(allowed) {
        panic!("{why}\n{}", logs());
    }
    let left = report.rows("findings").len();
    println!("fsck: {} names, {} inodes, {left} findings", report.json["names"], report.json["inodes"]);
    if left > 0 {
        let repaired = Report::of(&fsck(&["fsck", "--grace", GRACE, "--repair", "--remove-chunks"]));
        let stays: Vec<&str> = allowed.iter().copied().filter(|class| *class == OF_POWER_CUTS).collect();
        if let Some(why) = repaired.objection(&stays) {
            panic!("after the repair: {why}\n{}", logs());
        }
    }
}

impl Cluster {
    /// Runs `nyala fsck` with further arguments.
    #[track_caller]
    pub fn fsck(&self, args: &[&str]) -> Report {
        Report::of(&self.with_dir(&[&["fsck", "--grace", GRACE], args].concat()))
    }

    fn with_dir(&self, args: &[&str]) -> Outcome {
        let dir = crate::cluster::text(&self.dir());
        self.nyala(args.iter().copied().chain(["--dir", &dir, "--output", "json"]))
    }

    /// Panics unless `nyala fsck` finds nothing.
    #[track_caller]
    pub fn assert_fsck_clean(&self) {
        demand(|args| self.with_dir(args), || self.logs(40), &[]);
    }

    /// The same where a client died: what it may leave at storage can be repaired, and anything else is none of it.
    #[track_caller]
    pub fn assert_fsck_clean_but_for_dead_clients(&self) {
        demand(|args| self.with_dir(args), || self.logs(40), &OF_DEAD_CLIENTS);
    }
}

impl Hosts {
    /// Panics unless `nyala fsck` finds nothing.
    #[track_caller]
    pub fn assert_fsck_clean(&self) {
        demand(|args| self.ask(args), || self.logs(40), &[]);
    }

    /// The same where a client died, and services lost power: what a client may leave at storage can be repaired.
    #[track_caller]
    pub fn assert_fsck_clean_but_for_power_cuts(&self) {
        let allowed = [&OF_DEAD_CLIENTS[..], &[OF_POWER_CUTS]].concat();
        demand(|args| self.ask(args), || self.logs(40), &allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(change: impl FnOnce(&mut Value)) -> Report {
        let mut json = json!({"names": 3, "inodes": 4, "findings": [], "more": 0, "unsettled": [], "unchecked": []});
        change(&mut json);
        Report { json, told: String::new() }
    }

    #[test]
    fn nothing_but_what_is_allowed_may_be_found_and_all_has_to_be_looked_at() {
        assert_eq!(report(|_| ()).objection(&[]), None);
        let found = report(|json| json["findings"] = json!([{"class": "chunk-excess"}]));
        assert!(found.objection(&OF_DEAD_CLIENTS).is_none() && found.objection(&["link-count"]).is_some());
        for (list, row) in [("unsettled", json!({"class": "chunk-excess"})), ("unchecked", json!({"target": 1}))] {
            assert!(report(|json| json[list] = json!([row])).objection(&OF_DEAD_CLIENTS).is_some(), "{list}");
        }
        assert!(report(|json| json["more"] = json!(1)).objection(&[]).is_some());
        assert!(report(|json| json["inodes"] = json!(0)).objection(&[]).is_some());
    }
}
