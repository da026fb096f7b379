// SPDX-License-Identifier: Apache-2.0

//! Every query of the dashboards and alert rules for InfluxDB, run by a real one that the monitoring service writes to.

use super::dashboards::packaging;
use super::programs::InfluxDb;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// These tell that a machine is slow, as one under tests may be.
const SLOW: [&str; 2] = ["NyalaSlowMetadata", "NyalaSlowDisk"];

/// A store makes its first checkpoint after half a minute.
const SHOWN_LATER: &str = "Checkpoints: 99 of 100 took no longer";

/// Empty while nothing is resynced.
const MAY_BE_EMPTY: [&str; 4] = ["Left to copy", "Copied in a second", "Resync: time to go", "Resync: done"];

/// Empty while no disk fails, and without targets on drive sets.
const OF_DISKS: [&str; 2] = ["Drive sets: ", "Targets whose disk fails"];

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// As Grafana would ask for the last `seconds`.
fn asked(query: &str, seconds: u64) -> String {
    let query = query.replace("$timeFilter", &format!("time > now() - {seconds}s")).replace("$__interval", "2s");
    // Variables begin with it; a regular expression may end with it.
    let is_variable =
        |(at, _): (usize, &str)| query[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
    assert!(!query.match_indices('$').any(is_variable), "{query}");
    query
}

/// The values of an answer's series: the last one of each, by its tags.
fn values(influx: &InfluxDb, query: &str) -> BTreeMap<String, f64> {
    let series = influx.query(query);
    let value = |series: &Value| {
        let last = series["values"].as_array()?.last()?.as_array()?.get(1)?.as_f64()?;
        Some((series["tags"].to_string(), last))
    };
    series.iter().filter_map(value).collect()
}

/// Panels and their queries, over the last `seconds`.
fn panels(seconds: u64) -> Vec<(String, String)> {
    let files = fs::read_dir(packaging().join("grafana-influxdb")).unwrap().map(|entry| entry.unwrap().path());
    let mut all = Vec::new();
    for path in files.filter(|path| path.is_file()) {
        for panel in read(&path)["panels"].as_array().unwrap() {
            let (title, targets) = (panel["title"].as_str().unwrap(), panel["targets"].as_array().unwrap());
            for target in targets.iter().filter(|target| target["type"] != "math") {
                all.push((title.to_owned(), asked(target["query"].as_str().unwrap(), seconds)));
            }
        }
    }
    all
}

/// Runs every query of every panel; panels without data that are to have some by now, and queries that fail.
pub fn empty_panels(influx: &InfluxDb) -> Vec<String> {
    let asks = panels(30);
    println!("{} queries of InfluxDB", asks.len());
    assert!(asks.len() > 70, "{}", asks.len());
    let queries: Vec<String> = asks.iter().map(|(_, query)| query.clone()).collect();
    let of_disks = |title: &str| OF_DISKS.iter().any(|begin| title.starts_with(begin));
    let may_be_empty = |title: &str| MAY_BE_EMPTY.contains(&title) || title == SHOWN_LATER || of_disks(title);
    let empty = asks.iter().zip(influx.queries(&queries)).filter_map(|((title, query), answer)| match answer {
        Ok(series) if series.is_empty() && !may_be_empty(title) => Some(format!("{title}: no data: {query}")),
        Ok(_) => None,
        Err(error) => Some(format!("{title}: {error}: {query}")),
    });
    empty.collect()
}

/// Whether the panel has data by now that has to wait for a checkpoint.
pub fn checkpoints_are_shown(influx: &InfluxDb) -> bool {
    let asks = panels(120).into_iter().filter(|(title, _)| title == SHOWN_LATER);
    let queries: Vec<String> = asks.map(|(_, query)| query).collect();
    assert!(!queries.is_empty(), "{SHOWN_LATER}");
    influx.queries(&queries).into_iter().all(|answer| !answer.unwrap().is_empty())
}

/// Evaluates every alert rule over what the last `seconds` brought; names of those that fire, and how many there are.
pub fn firing(influx: &InfluxDb, seconds: u64) -> (Vec<String>, usize) {
    let groups = read(&packaging().join("grafana-influxdb/alerting/nyala-alerts.json"));
    let rules = groups["groups"][0]["rules"].as_array().unwrap();
    let fires = |rule: &Value| {
        let mut known: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
        let mut fired = false;
        for step in rule["data"].as_array().unwrap() {
            let (model, id) = (&step["model"], step["refId"].as_str().unwrap().to_owned());
            let from = |known: &BTreeMap<_, BTreeMap<_, _>>| known[model["expression"].as_str().unwrap()].clone();
            let made = match model["type"].as_str() {
                None => values(influx, &asked(model["query"].as_str().unwrap(), seconds)),
                Some("reduce") => from(&known),
                Some("math") => {
                    let (over, under) = model["expression"].as_str().unwrap().split_once(" / ").unwrap();
                    let of = |name: &str| &known[name.trim_start_matches('$')];
                    let part = |(tags, over): (&String, &f64)| Some((tags.clone(), over / of(under).get(tags)?));
                    of(over).iter().filter_map(part).collect()
                }
                Some("threshold") => {
                    let evaluator = &model["conditions"][0]["evaluator"];
                    let limit = evaluator["params"][0].as_f64().unwrap();
                    let above = evaluator["type"] == "gt";
                    let tested = from(&known);
                    let none = tested.is_empty() && rule["noDataState"] == "Alerting";
                    fired = none || tested.values().any(|value| if above { *value > limit } else { *value < limit });
                    tested
                }
                Some(other) => panic!("{other}: {rule}"),
            };
            known.insert(id, made);
        }
        assert!(known.contains_key(rule["condition"].as_str().unwrap()), "{rule}");
        fired
    };
    let firing = rules.iter().filter(|rule| fires(rule)).map(|rule| rule["title"].as_str().unwrap().to_owned());
    (firing.filter(|title| !SLOW.contains(&title.as_str())).collect(), rules.len())
}
