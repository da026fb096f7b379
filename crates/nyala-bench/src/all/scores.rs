// SPDX-License-Identifier: Apache-2.0

//! Every row of the design's section 14 with its figure. Pure.

use crate::document::Table;
use crate::failure::figures::Report;
use crate::report;
use crate::report::aim::{Aim, at_least, at_most};
use crate::report::aims::all;
use crate::report::table::figure;
use crate::sessions;
use serde::{Deserialize, Serialize};

/// A row and what it was before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The figure and its aim.
    #[serde(flatten)]
    pub aim: Aim,
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
        Score { aim, before: None, worse: false }
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
    let mut aims: Vec<Aim> =
        all(&rows, &loopback.unwrap_or_default()).into_iter().map(|aim| aim.because(why)).collect();
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
    aims.into_iter().map(Score::new).collect()
}

/// The rows for people.
pub fn table(scores: &[Score]) -> Table {
    let mut table = Table::new(&["AIM", "MEASURED", "WANTED", "RATIO", "RESULT", "BEFORE", "CHANGE"]);
    for score in scores {
        let aim = &score.aim;
        let change = match (aim.value, score.before) {
            (Some(now), Some(then)) if then > 0.0 => format!("{:+.0} %", 100.0 * (now / then - 1.0)),
            _ => String::new(),
        };
        let result = match &aim.why {
            Some(why) => format!("{} ({why})", aim.result()),
            None => aim.result().to_owned(),
        };
        table.row([
            aim.what.clone(),
            aim.measured(),
            aim.wanted(),
            aim.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            result,
            score.before.map_or("-".to_owned(), |before| figure(Some(before))),
            if score.worse { format!("{change} WORSE").trim().to_owned() } else { change },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn every_row_is_there_and_says_why_it_has_no_figure() {
        let away = || "no cluster".to_owned();
        let mirrors = vec![at_most("longest stall when a mirror member's process is killed", Some(0.4), 1.0, "s")];
        let parts = Parts { meta: Err(away()), data: Err(away()), sessions: Err(away()), mirrors: Ok(mirrors) };
        let scores = scores(&parts);
        // Thirteen rows of the design (some with several figures), two ratios within one run.
        assert_eq!(scores.len(), 20);
        for score in &scores {
            assert_eq!(score.aim.ok, score.aim.value.is_some(), "{score:?}");
            assert_eq!(score.aim.why.is_some(), score.aim.value.is_none(), "{score:?}");
        }
        let mut text = Document::default();
        text.table(table(&scores));
        let text = text.plain();
        assert_eq!(text.matches("MISS (no cluster)").count(), 16, "{text}");
        assert_eq!(text.matches("MISS (not measured)").count(), 3, "{text}");
        assert!(text.lines().any(|line| line.contains("stall") && line.contains("0.40 s") && line.contains(" ok ")));
    }
}
