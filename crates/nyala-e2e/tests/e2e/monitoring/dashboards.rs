// SPDX-License-Identifier: Apache-2.0

//! Every query of every panel of the dashboards, and every alert rule, run by a real Prometheus that scrapes a mirrored cluster under load, and by a real
//! InfluxDB that gets the same from the monitoring service.

use super::influx_dashboards::{checkpoints_are_shown, empty_panels, firing as firing_in};
use super::links;
use super::programs::{InfluxDb, Mon, prometheus_with, series, value};
use crate::metrics::turn_on;
use nyala_e2e::{Cluster, Options, alone};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// Dashboard, panel and query of each.
fn queries() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(packaging().join("grafana")).unwrap() {
        let path = entry.unwrap().path();
        let dashboard: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let place = format!("{}, {}", path.file_name().unwrap().display(), panel["title"]);
                let query = target["expr"].as_str().unwrap().replace("$__rate_interval", "10s").replace("$job", ".*");
                assert!(!query.contains('$'), "{place}: {query}");
                all.push((place, query));
            }
        }
    }
    all
}

fn load(dir: &Path, over: &AtomicBool) {
    let mut round = 0;
    while !over.load(Ordering::Relaxed) {
        links(dir, round * 10..round * 10 + 10);
        let path = dir.join("data");
        fs::write(&path, vec![7; 3 << 20]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 3 << 20);
        assert!(fs::metadata(dir.join("nobody")).is_err());
        round += 1;
        // sleeps: a load that leaves the machine room
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Says that it is over when it is dropped.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One that stands still and one that takes a week, as the monitoring service would write them; not one that is over.
fn resyncs_are_told_of(influx: &InfluxDb) {
    let point = |what: &str, group: u32, value: u64| {
        format!("nyala_mirror_resync_{what}_bytes,group={group},target={group} value={value}i\n")
    };
    let resync = |group, left, rate| point("left", group, left) + &point("rate", group, rate);
    influx.write(&resync(91, 0, 0));
    assert_eq!(firing_in(influx, 60).0, Vec::<String>::new());
    influx.write(&(resync(92, 1 << 30, 0) + &resync(93, 604_800, 1)));
    assert_eq!(firing_in(influx, 60).0, ["NyalaResyncStandsStill", "NyalaResyncTakesLong"]);
    // sleeps: rules look back over some time, and what was left within it still counts
    std::thread::sleep(Duration::from_secs(4));
    influx.write(&(resync(92, 0, 0) + &resync(93, 0, 0)));
    let over = firing_in(influx, 3).0;
    assert!(!over.iter().any(|title| title.starts_with("NyalaResync")), "{over:?}");
}

/// A disk that fails, and sets with all that can be wrong with one; not one that is well.
fn disks_are_told_of(influx: &InfluxDb) {
    let well = [
        "members|state=missing",
        "members|state=rebuilding",
        "stopped",
        "lost_stripes",
        "drive_errors|member=1",
        "rebuilt_bytes",
    ];
    let set = |target: u32, what: &str, value: u64| {
        let (what, label) =
            what.split_once('|').map_or((what, String::new()), |(what, label)| (what, format!(",{label}")));
        format!("nyala_storage_set_{what}{label},instance=s,target={target} value={value}i\n")
    };
    influx.write(&well.map(|what| set(94, what, 0)).concat());
    let ours = |seconds| {
        let fires = firing_in(influx, seconds).0;
        fires
            .into_iter()
            .filter(|title| title.starts_with("NyalaSet") || title == "NyalaTargetFailing")
            .collect::<Vec<_>>()
    };
    assert_eq!(ours(60), Vec::<String>::new());
    let mut lines = "nyala_mgmt_failing_target_errors,instance=m,target=96 value=64i\n".to_owned();
    for what in &well[..5] {
        lines += &set(95, what, 1);
    }
    lines += &(set(95, "rebuilt_bytes", 7) + &set(95, "drive_errors|member=2", 0));
    influx.write(&lines);
    // sleeps: points of one moment are one point
    std::thread::sleep(Duration::from_millis(50));
    influx.write(&(set(95, "drive_errors|member=2", 3) + &set(95, "rebuilt_bytes", 7)));
    let all = [
        "NyalaTargetFailing",
        "NyalaSetStopped",
        "NyalaSetDriveMissing",
        "NyalaSetRebuildStandsStill",
        "NyalaSetDriveErrors",
        "NyalaSetDataLost",
    ];
    assert_eq!(ours(60), all);
    // sleeps: rules look back over some time, and what was seen within it still counts
    std::thread::sleep(Duration::from_secs(4));
    influx.write(&(well[..4].iter().map(|what| set(95, what, 0)).collect::<String>() + &set(95, "rebuilt_bytes", 9)));
    assert_eq!(ours(3), Vec::<String>::new());
}

#[test]
fn e2e_monitoring_dashboards_show_data() {
    let _one = alone();
    let options = Options { meta: 1, storage: 2, storage_services: 2, more: vec!["--mirror".to_owned()] };
    let cluster = Cluster::start(options);
    let addresses = turn_on(&cluster);
    let rules = packaging().join("prometheus/nyala-alerts.yml");
    let (mut program, address) = prometheus_with(&cluster, &addresses, Some(&rules));
    let influx = InfluxDb::start(&cluster);
    let _mon = Mon::start(&cluster, influx.address);
    let (dir, over) = (cluster.test_dir("loaded"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load(&dir, &over));
        // The load ends also where something here fails, or nobody would learn of that.
        let _ended = Ended(&over);
        // sleeps: rates over 10 s need samples of so long
        std::thread::sleep(Duration::from_secs(12));
        let queries = queries();
        let empty: Vec<_> = queries.iter().filter(|(_, query)| series(address, query) == 0).collect();
        let without = empty_panels(&influx);
        over.store(true, Ordering::Relaxed);
        load.join().unwrap();
        assert_eq!(without, Vec::<String>::new(), "InfluxDB has no data for them");
        println!("{} queries", queries.len());
        assert!(queries.len() > 70 && empty.is_empty(), "no data: {empty:#?}");
    });
    let rules = super::programs::json(address, "/api/v1/rules", None);
    let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap().clone();
    let name = |rule: &Value| rule["name"].as_str().unwrap().to_owned();
    assert!(rules.len() > 10 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:#?}");
    let firing: Vec<String> = rules.iter().filter(|rule| rule["state"] != "inactive").map(name).collect();
    assert_eq!(firing, Vec::<String>::new(), "of a cluster that is well");
    let (fires, count) = firing_in(&influx, 60);
    assert!(count > 10 && fires.is_empty(), "{count} rules, of a cluster that is well: {fires:?}");
    resyncs_are_told_of(&influx);
    disks_are_told_of(&influx);
    // One that dies is told of.
    cluster.kill("storage2");
    program.until("an alert is raised", || value(address, "sum(ALERTS{alertname=\"NyalaDoesNotAnswer\"})") == 1.0);
    program.until("InfluxDB says so, too", || firing_in(&influx, 60).0.contains(&"NyalaTargetOffline".to_owned()));
    program.until("checkpoints are shown", || checkpoints_are_shown(&influx));
}
