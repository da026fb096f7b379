// SPDX-License-Identifier: Apache-2.0

//! Operations and their parts, as they are shown: as JSON, or as a table. Pure.

use crate::output::Table;
use serde::Serialize;

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// What was done.
    pub operation: String,
    /// The id under which it was followed, as 32 hexadecimal digits.
    pub trace: String,
    /// When it began, by the clock of its host, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// It is the one in the middle, by its time, of so many.
    pub followed: usize,
    /// How long it took, microseconds.
    pub whole_us: f64,
    /// How long it waited in the queue of its mount, microseconds; 0 where there is no mount.
    pub queue_us: f64,
    /// Time in which none of its requests was under way: the client's own.
    pub client_us: f64,
    /// Its requests, by their beginning.
    pub requests: Vec<Asked>,
    /// What the services that were asked had others do for it: other members of mirror groups. It lies within parts of those requests.
    pub passed_on: Vec<PassedOn>,
}

/// A request of one service to another, for an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassedOn {
    /// Who was asked.
    pub service: String,
    /// By whom.
    pub asked_by: String,
    /// For what.
    pub message: String,
    /// From when its frame was there until its reply left, microseconds.
    pub us: f64,
    /// What the service recorded.
    pub parts: Vec<Part>,
}

/// A request of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Who was asked.
    pub service: String,
    /// For what.
    pub message: String,
    /// When, since the operation began, microseconds. Requests may be under way at the same time.
    pub at_us: f64,
    /// Until its reply was there, microseconds.
    pub us: f64,
    /// What the service did not see of it: networks, kernels and queues of both sides. Missing where the service recorded nothing.
    pub network_us: Option<f64>,
    /// What the service recorded.
    pub parts: Vec<Part>,
}

/// A part of what a service recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What was done, or waited for.
    pub name: String,
    /// How long, microseconds.
    pub us: f64,
}

/// As a table: a line for the whole of each operation, and one for each part.
pub fn render(operations: &[Operation]) -> String {
    let mut table = Table::new(&["OPERATION", "WHERE", "PART", "US", "SHARE"]);
    for one in operations {
        let share = |us: f64| format!("{:.0} %", 100.0 * us / one.whole_us.max(1e-9));
        let mut line = |what: &str, place: &str, part: &str, us: f64| {
            table.row([what.to_owned(), place.to_owned(), part.to_owned(), format!("{us:.1}"), share(us)]);
        };
        line(&one.operation, "", "", one.whole_us);
        if one.queue_us > 0.0 {
            line("", "mount", "queue", one.queue_us);
        }
        line("", "client", "", one.client_us);
        for asked in &one.requests {
            match asked.network_us {
                Some(network) => line("", &asked.service, "network", network),
                None => line("", &asked.service, &format!("{}: nothing recorded", asked.message), asked.us),
            }
            asked.parts.iter().for_each(|part| line("", &asked.service, &part.name, part.us));
        }
        for passed in &one.passed_on {
            let place = format!("{} (for {})", passed.service, passed.asked_by);
            passed.parts.iter().for_each(|part| line("", &place, &part.name, part.us));
        }
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_line_with_its_place() {
        let part = |name: &str| Part { name: name.to_owned(), us: 3.0 };
        let asked = |network_us, parts| Asked {
            service: "storage1".to_owned(),
            message: "mirrored request".to_owned(),
            at_us: 1.0,
            us: 9.0,
            network_us,
            parts,
        };
        let passed = PassedOn {
            service: "storage2".to_owned(),
            asked_by: "storage1".to_owned(),
            message: "mirrors' change".to_owned(),
            us: 4.0,
            parts: vec![part("own copy")],
        };
        let requests = vec![asked(Some(3.0), vec![part("disk"), part("mirrors")]), asked(None, vec![])];
        let operation = Operation {
            operation: "write".to_owned(),
            trace: String::new(),
            began_unix_ns: 0,
            followed: 9,
            whole_us: 14.0,
            queue_us: 2.0,
            client_us: 3.0,
            requests,
            passed_on: vec![passed],
        };
        let text = render(&[operation]);
        let has = |place: &str, part: &str| text.lines().any(|line| line.contains(place) && line.contains(part));
        for (place, part) in [
            ("write", "100 %"),
            ("client", "21 %"),
            ("mount", "queue"),
            ("storage1", "network"),
            ("storage1", "disk"),
            ("storage1", "mirrors"),
            ("storage1", "mirrored request: nothing recorded"),
            ("storage2 (for storage1)", "own copy"),
        ] {
            assert!(has(place, part), "{place}, {part}: {text}");
        }
    }
}
