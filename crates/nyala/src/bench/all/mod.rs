// SPDX-License-Identifier: Apache-2.0

//! `nyala bench all`: every row of the design's section 14 in one run, on a cluster of its own.
//!
//! **Failure model.** A part that fails leaves its rows without figures, which miss their aims and say why; the other
//! parts are measured all the same. A cluster that does not start ends it.

mod args;
mod chart;
mod history;
mod own;
mod parts;
mod scores;

pub use args::AllArgs;

use super::{report, sessions};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, json, print};
use own::OwnCluster;
use scores::{Parts, Score};
use serde::Serialize;
use std::fmt::Write;

/// The whole result, as it is stored.
#[derive(Serialize)]
struct Result14<'a> {
    name: &'a str,
    compared_with: Option<String>,
    scores: Vec<Score>,
    meta: Option<&'a report::Report>,
    data: Option<&'a report::Report>,
    sessions: Option<&'a sessions::Report>,
}

/// Measures, compares, stores and prints.
pub fn run(args: &AllArgs, output: Output) -> Outcome {
    let cluster = OwnCluster::start(&args.work, args.base_port)?;
    let parts = parts::measure(&cluster, args)?;
    drop(cluster);
    let mut scores = scores::scores(&parts);
    let mut notes = Vec::new();
    let mut compared_with = None;
    if let Some(dir) = &args.results {
        match history::last(dir) {
            Ok((name, before)) => {
                history::compare(&mut scores, &before);
                compared_with = Some(name);
            }
            Err(why) => notes.push(format!("nothing to compare with: {why}")),
        }
    }
    let result = Result14 {
        name: &args.name,
        compared_with,
        scores,
        meta: parts.meta.as_ref().ok(),
        data: parts.data.as_ref().ok(),
        sessions: parts.sessions.as_ref().ok(),
    };
    let document = json(&result)?;
    if let Some(dir) = &args.out {
        let chart = chart::svg(&format!("Nyala {}", args.name), &result.scores);
        for (extension, text) in [("json", &document), ("svg", &chart)] {
            let file = history::store(dir, &args.name, extension, text)?;
            notes.push(format!("written: {}", file.display()));
        }
    }
    if args.json || output == Output::Json {
        print(&document)?;
    } else {
        print(&text(&parts, &result, &notes))?;
    }
    let broken = [parts.meta.err(), parts.data.err(), parts.sessions.err()].into_iter().flatten().next();
    broken.map_or(Ok(Exit::Ok), |why| Err(Failure::failed(why)))
}

fn text(parts: &Parts, result: &Result14<'_>, notes: &[String]) -> String {
    let mut text = String::new();
    for report in [&parts.meta, &parts.data].into_iter().flatten() {
        text += &report::table::render(report);
        text.push('\n');
    }
    if let Ok(report) = &parts.sessions {
        text += &sessions::render(report);
        text.push('\n');
    }
    let reached = result.scores.iter().filter(|score| score.aim.ok).count();
    let before = result.compared_with.as_ref().map_or(String::new(), |name| format!(", compared with {name}"));
    // why ignored, here and below: writing to a String cannot fail.
    let _ = write!(
        text,
        "Design, section 14: {reached} of {} reached{before}\n\n{}",
        result.scores.len(),
        scores::render(&result.scores)
    );
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}
