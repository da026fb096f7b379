// SPDX-License-Identifier: Apache-2.0

//! The rows for people. Pure.

use super::scores::Score;
use crate::document::Table;
use crate::report::aim::Aim;
use crate::report::table::figure;

/// A figure with its aim, in one cell.
fn absolute(aim: &Aim) -> String {
    format!("{} ({}) {}", aim.measured(), aim.wanted(), aim.result())
}

/// The rows for people.
pub fn table(scores: &[Score]) -> Table {
    let heads = ["AIM", "MEASURED", "WANTED", "RATIO", "RESULT", "ABSOLUTE", "FLOOR", "BEFORE", "CHANGE"];
    let mut table = Table::new(&heads);
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
            score.absolute.as_ref().map_or(String::new(), absolute),
            score.floor.map_or(String::new(), |floor| figure(Some(floor))),
            score.before.map_or("-".to_owned(), |before| figure(Some(before))),
            if score.worse { format!("{change} WORSE").trim().to_owned() } else { change },
        ]);
    }
    table
}
