// SPDX-License-Identifier: Apache-2.0

//! `nyala bench peers` against what is here on every machine: a local directory. What it measures is its own business; that it does all of
//! it, says it and takes everything away again is looked at here.

use nyala_e2e::beside_others;
use nyala_e2e::binary::nyala;
use nyala_e2e::cluster::text;
use nyala_e2e::ports;
use nyala_e2e::run::run;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

#[test]
fn e2e_bench_peers_compares_and_goes_away() {
    let _lane = beside_others();
    let work = tempfile::Builder::new().prefix("nyala-e2e-peers").tempdir_in("/var/tmp").unwrap();
    let dir = text(work.path());
    let port = ports::base();
    let words = ["bench", "peers", "--with", "local", "--rounds", "1", "--files", "10", "--size", "1m", "--tree", "20"];
    let mut command = Command::new(nyala());
    command.args(words).args(["--work", &dir, "--base-port", &port.to_string(), "--output", "json"]);
    let said: Value = serde_json::from_str(&run(&mut command, Duration::from_secs(120)).must()).unwrap();
    let rows = said["comparison"].as_array().unwrap();
    assert_eq!(rows.len(), 26, "{said:#}");
    for row in rows {
        let systems = row["systems"].as_array().unwrap();
        let names: Vec<&str> = systems.iter().map(|system| system["system"].as_str().unwrap()).collect();
        assert_eq!(names, ["nyala", "local"], "{row:#}");
        assert!(systems.iter().all(|system| system["rate"].as_f64().unwrap() > 0.0), "{row:#}");
        assert!(row["verdict"].is_null(), "a local directory is no peer: {row:#}");
    }
    let cost =
        |step: &str| rows.iter().find(|row| row["step"] == step).unwrap()["systems"][0]["cpu_us"].as_f64().unwrap();
    assert!(cost("tar -xp") > 10.0, "its processes are counted");
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0, "nothing is left");
}
