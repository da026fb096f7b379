// SPDX-License-Identifier: Apache-2.0

//! Checks of the file system (`nyala fsck`): those that go on, as far as their commands tell it, and those that were written down among the orders of
//! operators. Pure: times are arguments.

use nyala_web::{Check, CheckState};
use nyala_wire::ErrorCode;
use nyala_wire::audit::AuditRecord;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{FSCK_HEARD_S, FsckNews, MAX_FSCK_TEXT};
use std::collections::BTreeMap;

/// Most checks that are followed at once.
const MOST: usize = 8;
/// Most checks of earlier that are shown.
const MOST_SHOWN: usize = 5;

/// Checks by what they are called among the orders.
#[derive(Debug, Default)]
pub(crate) struct KnownChecks(BTreeMap<String, Heard>);

#[derive(Debug)]
struct Heard {
    at_ms: u64,
    progress: String,
}

/// What a run is called among the orders of operators: the same by whichever node writes it down.
pub(crate) fn called(news: &FsckNews) -> String {
    let what = if news.repairs { "fsck --repair" } else { "fsck" };
    format!("{what} (run {:016x})", news.run)
}

impl KnownChecks {
    /// Hears of a check at a time, milliseconds; one that is over is not followed any more.
    pub fn hear(&mut self, now_ms: u64, news: &FsckNews) -> Result<(), WireError> {
        let texts = [Some(&news.progress), news.outcome.as_ref()];
        if texts.into_iter().flatten().any(|text| text.len() > MAX_FSCK_TEXT || text.chars().any(char::is_control)) {
            return Err(ErrorCode::INVALID.with(format!("a check tells at most {MAX_FSCK_TEXT} bytes, on one line")));
        }
        let called = called(news);
        if news.outcome.is_some() {
            self.0.remove(&called);
            return Ok(());
        }
        self.0.retain(|_, heard| is_recent(now_ms, heard.at_ms));
        if self.0.len() >= MOST && !self.0.contains_key(&called) {
            return Err(ErrorCode::NO_SPACE.with(format!("{MOST} checks go on already; this one is not shown")));
        }
        self.0.insert(called, Heard { at_ms: now_ms, progress: news.progress.clone() });
        Ok(())
    }

    /// The last checks, newest first. `leads`: whether this node would have heard of those that go on.
    pub fn shown(&self, now_ms: u64, orders: &[AuditRecord], leads: bool) -> Vec<Check> {
        let checks = orders.iter().rev().filter(|order| order.what.starts_with("fsck"));
        let state = |order: &AuditRecord| match (&order.outcome, self.0.get(&order.what)) {
            (Some(outcome), _) => CheckState::Over(outcome.clone()),
            (None, Some(heard)) if leads && is_recent(now_ms, heard.at_ms) => {
                CheckState::GoesOn(heard.progress.clone())
            }
            (None, _) => CheckState::Unknown { leads },
        };
        let shown = |order: &AuditRecord| Check {
            began_ms: order.at_ms,
            what: order.what.split(" (run").next().unwrap_or_default().to_owned(),
            host: order.host.clone(),
            state: state(order),
        };
        checks.take(MOST_SHOWN).map(shown).collect()
    }
}

fn is_recent(now_ms: u64, at_ms: u64) -> bool {
    now_ms.saturating_sub(at_ms) <= FSCK_HEARD_S * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(run: u64, progress: &str, outcome: Option<&str>) -> FsckNews {
        FsckNews { run, repairs: run == 2, progress: progress.to_owned(), outcome: outcome.map(str::to_owned) }
    }

    fn order(news: &FsckNews, outcome: Option<&str>) -> AuditRecord {
        let outcome = outcome.map(str::to_owned);
        AuditRecord { what: called(news), host: "10.0.0.7".to_owned(), outcome, ..AuditRecord::default() }
    }

    #[test]
    fn a_check_goes_on_while_it_is_heard_of_and_is_over_when_it_says_so() {
        let (first, second) = (news(1, "first look: 3 names", None), news(2, "mirrors", None));
        let mut known = KnownChecks::default();
        known.hear(1000, &first).unwrap();
        known.hear(30_000, &second).unwrap();
        let other = AuditRecord { what: "mirror delete: group 1".to_owned(), ..AuditRecord::default() };
        let orders = [order(&first, None), other, order(&second, None)];
        let states = |known: &KnownChecks, now_ms, leads| {
            known.shown(now_ms, &orders, leads).into_iter().map(|check| (check.what, check.state)).collect::<Vec<_>>()
        };
        let goes_on = |text: &str| CheckState::GoesOn(text.to_owned());
        let (repair, check) = ("fsck --repair".to_owned(), "fsck".to_owned());
        let both = [(repair.clone(), goes_on("mirrors")), (check.clone(), goes_on("first look: 3 names"))];
        assert_eq!(states(&known, 61_000, true), both);
        let silent = CheckState::Unknown { leads: true };
        assert_eq!(states(&known, 61_001, true)[1].1, silent, "not heard of for a minute");
        assert_eq!(states(&known, 61_000, false)[0].1, CheckState::Unknown { leads: false });
        known.hear(61_000, &news(2, "", Some("clean"))).unwrap();
        assert_eq!(states(&known, 61_000, true)[0].1, silent, "until its outcome is written down");
        let over = known.shown(61_000, &[order(&second, Some("clean"))], true);
        assert_eq!(over[0].state, CheckState::Over("clean".to_owned()));
    }

    #[test]
    fn what_is_said_is_bounded() {
        let mut known = KnownChecks::default();
        for wrong in
            [news(1, &"x".repeat(MAX_FSCK_TEXT + 1), None), news(1, "a\nb", None), news(1, "", Some("\u{1b}[2J"))]
        {
            assert_eq!(known.hear(0, &wrong).unwrap_err().code, ErrorCode::INVALID);
        }
        (0..MOST as u64).for_each(|run| known.hear(0, &news(run + 10, "", None)).unwrap());
        assert_eq!(known.hear(0, &news(1, "", None)).unwrap_err().code, ErrorCode::NO_SPACE);
        known.hear(0, &news(10, "again", None)).expect("one that is known");
        known.hear(60_001, &news(1, "", None)).expect("the others are given up");
        let orders = vec![order(&news(1, "", None), Some("clean")); MOST_SHOWN + 1];
        assert_eq!(known.shown(0, &orders, true).len(), MOST_SHOWN);
    }
}
