// SPDX-License-Identifier: Apache-2.0

//! Every row of the design's section 14 in one run, on a cluster of its own.
//!
//! **Failure model.** A part that fails leaves its rows without figures, which miss their aims and say why; the other
//! parts are measured all the same. A cluster that does not start ends it.

mod chart;
pub(crate) mod history;
mod own;
mod parts;
mod scores;
mod table;

pub use own::OwnCluster;
pub use parts::{Plan, measure, measure_mirrored};
pub use scores::{Parts, Score};

use crate::document::Document;
use crate::error::BenchError;
use crate::floors;
use crate::report;
use crate::sessions;
use serde::Serialize;
use std::path::PathBuf;

/// What the result is called, what it is compared with, and where it is kept.
pub struct Keeping {
    /// What was measured: a date and a commit, so that names sort by age.
    pub name: String,
    /// Where earlier results are; the last one is compared with.
    pub results: Option<PathBuf>,
    /// Where to write the result (JSON) and a chart (SVG).
    pub out: Option<PathBuf>,
}

/// The result in both forms.
pub struct Whole {
    /// As it is stored.
    pub json: String,
    /// For people.
    pub document: Document,
    /// Why a part has no figures.
    pub broken: Option<String>,
}

/// The whole result, as it is stored.
#[derive(Serialize)]
struct Result14<'a> {
    name: &'a str,
    compared_with: Option<String>,
    scores: Vec<Score>,
    meta: Option<&'a report::Report>,
    data: Option<&'a report::Report>,
    sessions: Option<&'a sessions::Report>,
    floor: Option<&'a floors::FloorReport>,
    mirrored_data: Option<&'a report::Report>,
}

/// Compares and stores what was measured.
pub fn conclude(parts: Parts, keeping: &Keeping) -> Result<Whole, BenchError> {
    let mut scores = scores::scores(&parts);
    let mut notes = Vec::new();
    let mut compared_with = None;
    if let Some(dir) = &keeping.results {
        match history::last(dir) {
            Ok((name, before)) => {
                history::compare(&mut scores, &before);
                compared_with = Some(name);
            }
            Err(why) => notes.push(format!("nothing to compare with: {why}")),
        }
    }
    let result = Result14 {
        name: &keeping.name,
        compared_with,
        scores,
        meta: parts.meta.as_ref().ok(),
        data: parts.data.as_ref().ok(),
        sessions: parts.sessions.as_ref().ok(),
        floor: parts.floor.as_ref().ok(),
        mirrored_data: parts.mirrored_data.as_ref().ok(),
    };
    let json = serde_json::to_string_pretty(&result);
    let json = json.map_err(|error| BenchError::failed(format!("cannot write JSON: {error}")))? + "\n";
    if let Some(dir) = &keeping.out {
        let chart = chart::svg(&format!("Nyala {}", keeping.name), &result.scores)?;
        for (extension, text) in [("json", &json), ("svg", &chart)] {
            let file = history::store(dir, &keeping.name, extension, text)?;
            notes.push(format!("written: {}", file.display()));
        }
    }
    let document = document(&parts, &result, &notes);
    let Parts { meta, data, sessions, floor, mirrored_data, .. } = parts;
    let broken = [meta.err(), data.err(), sessions.err(), floor.err(), mirrored_data.err()];
    let broken = broken.into_iter().flatten().next();
    Ok(Whole { json, document, broken })
}

fn document(parts: &Parts, result: &Result14<'_>, notes: &[String]) -> Document {
    let mut all = Document::default();
    for report in [&parts.meta, &parts.data].into_iter().flatten() {
        all.append(report::table::render(report));
        all.text("\n");
    }
    if let Ok(report) = &parts.floor {
        all.append(report.document());
        all.text("\n");
    }
    if let Ok(report) = &parts.mirrored_data {
        all.text("Mirrored files\n");
        all.append(report::table::render(report));
        all.text("\n");
    }
    if let Ok(report) = &parts.sessions {
        all.append(sessions::render(report));
        all.text("\n");
    }
    let reached = result.scores.iter().filter(|score| score.aim.ok).count();
    let before = result.compared_with.as_ref().map_or(String::new(), |name| format!(", compared with {name}"));
    all.text(format!("Design, section 14: {reached} of {} reached{before}\n\n", result.scores.len()));
    all.table(table::table(&result.scores));
    notes.iter().for_each(|note| all.text(format!("note: {note}\n")));
    all
}
