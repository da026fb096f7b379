// SPDX-License-Identifier: Apache-2.0

//! What metadata services count by user, added up over services, and what is shown of it. Pure.

use super::stats_counts::per_second;
use crate::output::Table;
use nyala_metrics::OTHERS_WORD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// What services did for a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UserCounts {
    pub requests: u64,
    /// Requests that change something.
    pub changes: u64,
}

/// By number, or by what stands for nobody and for others.
pub(super) type Users = BTreeMap<String, UserCounts>;

/// Adds what a service counts of its users: `user.UID.WHAT`.
pub(super) fn add_users(all: &mut Users, counters: &[(String, u64)]) {
    for (name, value) in counters {
        let Some((user, what)) = name.strip_prefix("user.").and_then(|name| name.split_once('.')) else { continue };
        match what {
            "requests" => all.entry(user.to_owned()).or_default().requests += value,
            "changes" => all.entry(user.to_owned()).or_default().changes += value,
            _ => {}
        }
    }
}

/// What was done in each second between two looks, of users of whom something was asked then.
pub(super) fn user_rates(before: &Users, after: &Users, time: Duration) -> Users {
    let rate = per_second(time);
    let one = |(user, now): (&String, &UserCounts)| {
        let then = before.get(user).copied().unwrap_or_default();
        let (requests, changes) = (rate(now.requests, then.requests), rate(now.changes, then.changes));
        (user.clone(), UserCounts { requests, changes })
    };
    after.iter().map(one).filter(|(_, counts)| counts.requests > 0).collect()
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserRow {
    user: String,
    /// Its name on this host.
    name: Option<String>,
    counts: UserCounts,
}

/// The busiest users, at most `top` of them if that is said, and the rest together as the last line. `name` is asked for those that are listed.
pub(super) fn busiest(users: &Users, top: Option<usize>, mut name: impl FnMut(u32) -> Option<String>) -> Vec<UserRow> {
    let mut listed: Vec<(&String, &UserCounts)> = users.iter().filter(|(user, _)| *user != OTHERS_WORD).collect();
    listed.sort_by_key(|(user, counts)| (Reverse(counts.requests), user.parse::<u32>().ok()));
    let cut = listed.split_off(top.unwrap_or(usize::MAX).min(listed.len()));
    let rest = users.get(OTHERS_WORD).into_iter().chain(cut.into_iter().map(|(_, counts)| counts));
    let others = rest.copied().reduce(|sum, counts| UserCounts {
        requests: sum.requests + counts.requests,
        changes: sum.changes + counts.changes,
    });
    let row = |(user, counts): (&String, &UserCounts)| {
        let name = user.parse::<u32>().ok().and_then(&mut name);
        UserRow { user: user.clone(), name, counts: *counts }
    };
    let mut rows: Vec<UserRow> = listed.into_iter().map(row).collect();
    rows.extend(others.map(|counts| UserRow { user: OTHERS_WORD.to_owned(), name: None, counts }));
    rows
}

/// As a table for people.
pub(super) fn user_table(rows: &[UserRow]) -> String {
    let mut table = Table::new(&["USER", "REQUESTS", "CHANGES"]);
    for UserRow { user, name, counts } in rows {
        table.row([name.as_ref().unwrap_or(user).clone(), counts.requests.to_string(), counts.changes.to_string()]);
    }
    table.render()
}

/// As an object by user for programs, the busiest first.
pub(super) struct ByNumber<'a>(pub &'a [UserRow]);

impl Serialize for ByNumber<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Said<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            requests: u64,
            changes: u64,
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for UserRow { user, name, counts } in self.0 {
            let UserCounts { requests, changes } = *counts;
            map.serialize_entry(user, &Said { name: name.as_deref(), requests, changes })?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted() -> Users {
        let said = [
            ("user.1000.requests", 40),
            ("user.1000.changes", 7),
            ("user.-.requests", 900),
            ("user.0.requests", 500),
            ("user.others.requests", 3),
            ("user.9.requests", 40),
            ("user.9.later", 1),
            ("client.10.0.0.1.requests", 6),
            ("op.create", 6),
        ];
        let said: Vec<(String, u64)> = said.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut users = Users::new();
        add_users(&mut users, &said);
        add_users(&mut users, &said);
        users
    }

    fn names(uid: u32) -> Option<String> {
        [(0, "root"), (1000, "anna")].into_iter().find(|(known, _)| *known == uid).map(|(_, name)| name.to_owned())
    }

    #[test]
    fn services_are_added_up_and_the_busiest_come_first() {
        let all = busiest(&counted(), None, names);
        let lines: Vec<String> = user_table(&all).lines().skip(2).map(str::to_owned).collect();
        let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
        let expected =
            [["-", "1800", "0"], ["root", "1000", "0"], ["9", "80", "0"], ["anna", "80", "14"], ["others", "6", "0"]];
        assert_eq!(words, expected.map(Vec::from));
        let numeric = user_table(&busiest(&counted(), None, |_| None));
        assert!(numeric.contains("1000") && !numeric.contains("anna"), "{numeric}");
    }

    #[test]
    fn what_is_cut_is_added_to_the_others_and_nobody_is_asked_for_its_name() {
        let mut asked = Vec::new();
        let rows = busiest(&counted(), Some(2), |uid| {
            asked.push(uid);
            names(uid)
        });
        let json = serde_json::to_string(&ByNumber(&rows)).unwrap();
        let expected = r#"{"-":{"requests":1800,"changes":0},"0":{"name":"root","requests":1000,"changes":0},"others":{"requests":166,"changes":14}}"#;
        assert_eq!((json.as_str(), asked), (expected, vec![0]));
        assert_eq!(busiest(&Users::new(), Some(2), names), []);
    }

    #[test]
    fn rates_leave_out_who_asked_for_nothing() {
        let at = |requests, changes| Users::from([("7".to_owned(), UserCounts { requests, changes })]);
        let rate = |before, after, ms| user_rates(&before, &after, Duration::from_millis(ms)).get("7").copied();
        assert_eq!(rate(at(100, 10), at(300, 30), 2000), Some(UserCounts { requests: 100, changes: 10 }));
        assert_eq!(rate(at(100, 10), at(50, 0), 500).map(|counts| counts.requests), Some(100), "it was started again");
        assert_eq!(rate(at(100, 10), at(100, 10), 500), None);
        assert_eq!(rate(Users::new(), at(1, 1), 1000), Some(UserCounts { requests: 1, changes: 1 }));
    }
}
