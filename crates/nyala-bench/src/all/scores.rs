// SPDX-License-Identifier: Apache-2.0

//! Every row of the design's section 14 with its figure. Pure.

use crate::failure::figures::Report;
use crate::floors;
use crate::floors::ratios::{of_floor, of_unmirrored};
use crate::report;
use crate::report::aim::{Aim, at_least, at_most};
use crate::report::aims::all;
use crate::sessions;
use serde::{Deserialize, Serialize};

/// A row and what it was before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The figure and its aim.
    #[serde(flatten)]
    pub aim: Aim,
    /// Of a ratio to a floor: the same figure as it is, and its aim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<Aim>,
    /// Of a ratio to a floor: the floor's figure, in the unit of the absolute one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The figure of the result that was compared with.
    #[serde(default)]
    pub before: Option<f64>,
    /// It became worse by more than chance.
    #[serde(default)]
    pub worse: bool,
}

impl Score {
    /// Nothing to compare with yet.
    pub fn new(aim: Aim) -> Score {
        Score { aim, absolute: None, floor: None, before: None, worse: false }
    }
}

/// What was measured; a part that could not be is why.
pub struct Parts {
    /// `bench meta`.
    pub meta: Result<report::Report, String>,
    /// `bench data`.
    pub data: Result<report::Report, String>,
    /// `bench sessions`.
    pub sessions: Result<sessions::Report, String>,
    /// Figures of mirror groups.
    pub mirrors: Result<Vec<Aim>, String>,
    /// `bench floor`, with the sizes of `bench data`.
    pub floor: Result<floors::FloorReport, String>,
    /// The workloads of `bench data` that have aims for mirrored files, on mirrored files.
    pub mirrored_data: Result<report::Report, String>,
}

/// The design's aims for mirrored files: mirrored by unmirrored, longest stall (s), reads without a member, I/O during resync.
fn mirror_aims([ratio, stall, reads, resync]: [Option<f64>; 4]) -> Vec<Aim> {
    let percent = |ratio: Option<f64>| ratio.map(|ratio| 100.0 * ratio);
    vec![
        at_least("mirrored ÷ unmirrored write, CPU the limit", percent(ratio), 75.0, "%"),
        at_most("longest stall when a mirror member's process is killed", stall, 1.0, "s"),
        at_least("reads with one mirror member down: share of the surviving hardware", percent(reads), 90.0, "%"),
        at_least("foreground I/O during resync, of what it was before", percent(resync), 80.0, "%"),
    ]
}

/// What a study of failures says about them. All members share one machine: what is left of it when one is down is all of it.
pub fn mirror_figures(report: &Report) -> Result<Vec<Aim>, String> {
    if report.errors > 0 {
        return Err(format!("bench failure: applications saw {} errors", report.errors));
    }
    let (ratio, stall) = (Some(report.mirrored_write_ratio), Some(report.worst_pause_s));
    Ok(mirror_aims([ratio, stall, Some(report.ratios.away_read_ratio), report.ratios.returned_ratio]))
}

/// All rows, in the order of the design.
pub fn scores(parts: &Parts) -> Vec<Score> {
    let loopback = parts.data.as_ref().or(parts.meta.as_ref()).map(|report| report.loopback);
    let rows: Vec<_> =
        [&parts.meta, &parts.data].into_iter().flatten().flat_map(|report| report.rows.clone()).collect();
    let why = [parts.meta.as_ref().err(), parts.data.as_ref().err()].into_iter().flatten().next();
    let why = why.map_or("its phase did nothing", String::as_str);
    let absolute = all(&rows, &loopback.unwrap_or_default()).into_iter().map(|aim| aim.because(why));
    let mut scores = with_floor_ratios(absolute, parts);
    let mut aims = mirrored_data(parts);
    aims.extend(mirror_aims([None; 4]).into_iter().map(|wanted| match &parts.mirrors {
        Ok(found) => {
            let found = found.iter().find(|aim| aim.what == wanted.what && aim.value.is_some()).cloned();
            found.unwrap_or(wanted.because("not measured"))
        }
        Err(why) => wanted.because(why),
    }));
    match &parts.sessions {
        Ok(report) => aims.extend(report.aims.clone()),
        Err(why) => aims.push(at_most(sessions::MEMORY_AIM, None, sessions::MEMORY_AIM_KIB, "KiB").because(why)),
    }
    scores.extend(aims.into_iter().map(Score::new));
    scores
}

/// The reason of the first of these parts that has none.
fn reason(parts: [Option<&String>; 2]) -> &str {
    parts.into_iter().flatten().next().map_or("its phase did nothing", String::as_str)
}

/// Absolute aims, those of storage beside its ratio to the floor, and what has only that ratio.
fn with_floor_ratios(absolute: impl Iterator<Item = Aim>, parts: &Parts) -> Vec<Score> {
    let rows = parts.data.as_ref().map_or(&[][..], |report| &report.rows[..]);
    let floor = parts.floor.as_ref().map_or(&[][..], |report| &report.rows[..]);
    let why = reason([parts.data.as_ref().err(), parts.floor.as_ref().err()]);
    let mut ratios = of_floor(rows, floor);
    let mut scores: Vec<Score> = Vec::new();
    for aim in absolute {
        match ratios.iter().position(|ratio| ratio.absolute == Some(aim.what.as_str())) {
            Some(at) => {
                let ratio = ratios.remove(at);
                let score = Score::new(ratio.aim.because(why));
                scores.push(Score { absolute: Some(aim), floor: ratio.floor, ..score });
            }
            None => scores.push(Score::new(aim)),
        }
    }
    let others = ratios.into_iter().map(|ratio| Score { floor: ratio.floor, ..Score::new(ratio.aim.because(why)) });
    scores.extend(others);
    scores
}

/// What mirrored files cost storage by what unmirrored ones do.
fn mirrored_data(parts: &Parts) -> Vec<Aim> {
    let rows = |part: &Result<report::Report, String>| part.as_ref().map_or(Vec::new(), |report| report.rows.clone());
    let why = reason([parts.data.as_ref().err(), parts.mirrored_data.as_ref().err()]);
    let aims = of_unmirrored(&rows(&parts.mirrored_data), &rows(&parts.data));
    aims.into_iter().map(|aim| aim.because(why)).collect()
}

#[cfg(test)]
#[path = "scores_tests.rs"]
mod tests;
