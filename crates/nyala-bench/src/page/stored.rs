// SPDX-License-Identifier: Apache-2.0

//! What is read of a stored run: of `nyala bench all`, or of one benchmark with `--output json`.

use super::loose::{self, Grid};
use crate::all::Score;
use crate::measure::latency::Percentiles;
use crate::measure::loopback::Loopback;
use crate::report::aim::Aim;
use crate::report::{Cpu, Setting};
use serde::Deserialize;
use serde_json::Value;

/// Why a text is no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARun {
    /// It is no JSON, or a part of it has another form.
    #[error("it cannot be read as a run of nyala bench: {0}")]
    Form(String),
    /// It has nothing that a benchmark says.
    #[error(
        "it holds no figures of nyala bench; give files that `nyala bench all --out`, or a benchmark with --output json, has written"
    )]
    Nothing,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// What it is called: names sort by age.
    pub name: String,
    /// The machine and cluster, of each benchmark in it.
    pub settings: Vec<(String, Setting)>,
    /// What loopback TCP gave.
    pub loopback: Option<Loopback>,
    /// Figures next to what they should be.
    pub aims: Vec<Aim>,
    /// Of those that are ratios to a floor, the same figures as they are.
    pub absolutes: Vec<Aim>,
    /// Phases.
    pub rows: Vec<StoredRow>,
    /// Other lists of figures, by what they are called.
    pub tables: Vec<(String, Grid)>,
}

impl Stored {
    /// All figures that have an aim.
    pub fn figures(&self) -> impl Iterator<Item = &Aim> {
        self.aims.iter().chain(&self.absolutes)
    }
}

/// A phase at one place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct StoredRow {
    /// The workload.
    pub workload: String,
    /// What was done.
    pub step: String,
    /// Where.
    #[serde(rename = "place")]
    pub backend: String,
    /// Operations, or entries.
    #[serde(default)]
    pub items: u64,
    /// Content moved, bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Wall time.
    #[serde(default)]
    pub seconds: f64,
    /// Latency of an operation, microseconds.
    #[serde(default)]
    pub latency_us: Percentiles,
    /// CPU time.
    #[serde(default)]
    pub cpu: Cpu,
}

impl StoredRow {
    /// What it did, in words.
    pub fn what(&self) -> String {
        format!("{} {} ({})", self.workload, self.step, self.backend)
    }

    /// A stream, measured in bytes rather than operations.
    pub fn is_stream(&self) -> bool {
        matches!(self.step.as_str(), "write" | "read")
    }
}

/// Parts of a whole result.
const PARTS: [&str; 4] = ["meta", "data", "sessions", "floor"];
/// What the fields above take.
const KNOWN: [&str; 9] = ["name", "compared_with", "scores", "meta", "data", "sessions", "rows", "aims", "notes"];

/// Reads a run; `name` is for one that does not say its own.
pub fn read(name: &str, text: &str) -> Result<Stored, NotARun> {
    let form = |error: serde_json::Error| NotARun::Form(error.to_string());
    let value: Value = serde_json::from_str(text).map_err(form)?;
    let whole = value.as_object().ok_or_else(|| NotARun::Form("it is no object".into()))?;
    let mut run =
        Stored { name: whole.get("name").and_then(Value::as_str).unwrap_or(name).to_owned(), ..Stored::default() };
    let parts = PARTS.iter().filter_map(|part| whole.get(*part)).filter(|part| part.is_object());
    for part in parts.chain([&value]) {
        let field = |name: &str| part.get(name).cloned().filter(|value| !value.is_null());
        if let Some(setting) = field("setting") {
            let bench = part.get("bench").and_then(Value::as_str).unwrap_or_default();
            run.settings.push((bench.to_owned(), serde_json::from_value(setting).map_err(form)?));
        }
        if let Some(loopback) = field("loopback").filter(|_| run.loopback.is_none()) {
            run.loopback = Some(serde_json::from_value(loopback).map_err(form)?);
        }
        if let Some(rows) = field("rows") {
            run.rows.extend(serde_json::from_value::<Vec<StoredRow>>(rows).map_err(form)?);
        }
        let title = |key: &str| match part.get("bench").and_then(Value::as_str) {
            Some(bench) => format!("{bench}: {key}"),
            None => key.to_owned(),
        };
        let lists = part.as_object().into_iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
        run.tables.extend(lists.filter_map(|(key, list)| Some((title(key), loose::table(list)?))));
    }
    let aims = whole.get("scores").or_else(|| whole.get("aims")).cloned().unwrap_or_else(|| Value::Array(vec![]));
    for score in serde_json::from_value::<Vec<Score>>(aims).map_err(form)? {
        run.absolutes.extend(score.absolute);
        run.aims.push(score.aim);
    }
    if run.aims.is_empty() && run.rows.is_empty() && run.tables.is_empty() {
        return Err(NotARun::Nothing);
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_all_kinds_are_read() {
        let alone = r#"{"bench":"meta","setting":{"cpus":2,"kernel":"6.1"},"rows":[{"workload":"easy","step":"create","place":"native"}],
            "later":[{"a":1}],"aims":[]}"#;
        let run = read("file", alone).unwrap();
        assert_eq!((run.name.as_str(), run.rows.len(), run.settings[0].1.cpus), ("file", 1, 2));
        assert_eq!(run.tables[0].0, "meta: later");
        let whole = format!(r#"{{"name":"n","scores":[],"meta":{alone},"data":null,"compared_with":null}}"#);
        let run = read("file", &whole).unwrap();
        assert_eq!((run.name.as_str(), run.rows.len(), run.tables.len()), ("n", 1, 1));
    }

    #[test]
    fn a_run_with_a_floor_has_its_rows_and_both_figures_of_a_ratio() {
        let aim = |what: &str, value: f64| {
            format!(r#""what":"{what}","value":{value},"aim":1.25,"unit":"x","at_least":false,"ok":true"#)
        };
        let score = format!(r#"{{{},"absolute":{{{}}},"floor":0.2}}"#, aim("ratio", 1.2), aim("as it is", 0.24));
        let floor = r#"{"bench":"floor","setting":{"cpus":2},"sizes":{"block":524288},"rounds":3,"notes":["a"],
            "rows":[{"workload":"floor","step":"write","place":"floor","bytes":1073741824,"seconds":1.0,"cpu":{"storage_us":200000}}]}"#;
        let run = read("file", &format!(r#"{{"name":"n","scores":[{score}],"floor":{floor}}}"#)).unwrap();
        assert_eq!(run.rows[0].what(), "floor write (floor)");
        assert_eq!(run.aims.iter().map(|aim| aim.what.as_str()).collect::<Vec<_>>(), ["ratio"]);
        assert_eq!(run.figures().map(|aim| aim.value).collect::<Vec<_>>(), [Some(1.2), Some(0.24)]);
        let alone = read("file", floor).unwrap();
        assert_eq!((alone.rows.len(), alone.settings[0].0.as_str(), alone.tables.len()), (1, "floor", 0));
    }

    #[test]
    fn what_is_no_run_is_said() {
        for text in ["", "[]", "{\"rows\":7}", "{\"scores\":[{\"what\":1}]}"] {
            assert!(matches!(read("x", text), Err(NotARun::Form(_))), "{text}");
        }
        assert_eq!(read("x", "{}"), Err(NotARun::Nothing));
        assert_eq!(read("x", "{\"nodes\":[],\"n\":1}"), Err(NotARun::Nothing));
    }
}
