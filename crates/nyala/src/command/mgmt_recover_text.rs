// SPDX-License-Identifier: Apache-2.0

//! What `nyala mgmt recover` says.

use crate::output::Table;
use nyala_mgmt::Remains;
use serde::Serialize;

/// What was found, and what was made of it.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub remains: Remains,
    /// Names of other management nodes that answer.
    pub answering: Vec<String>,
    /// Whether this node is now all that there is of management.
    pub recovered: bool,
}

/// What there is, what is given up, and what may be lost with it.
pub fn text(report: &Report) -> String {
    let Remains { node, alias, cluster, dir, others, .. } = &report.remains;
    let found = &report.remains;
    let mut text = format!("Management node {node} ({alias}) of cluster {cluster}\n  directory   {}\n", dir.display());
    text += &format!("  last entry  {} of term {}\n", found.last_entry, found.last_term);
    text += &format!("  decided     up to entry {}, as far as it knows\n", found.decided);
    let (services, targets, groups) = (found.services, found.targets, found.groups);
    text += &format!("  it knows    {services} services, {targets} targets, {groups} mirror groups\n\n");
    if others.is_empty() {
        return text + "It is the only management node: there is nothing to recover. Start its service.\n";
    }
    let mut table = Table::new(&["GIVEN UP", "ID", "ANSWERS", "ADDRESSES"]);
    for other in others {
        let addresses: Vec<String> = other.addresses.iter().map(ToString::to_string).collect();
        let answers = report.answering.iter().any(|name| name.starts_with(&format!("{} (", other.alias)));
        let answers = if answers { "yes" } else { "no" };
        table.row([other.alias.clone(), other.node.to_string(), answers.into(), addresses.join(" ")]);
    }
    text += &table.render();
    text += &format!("\nMay be lost: what the others decided after entry {}", found.last_entry);
    text += if found.voted_term > found.last_term { ", and there was an election after it:\n" } else { ":\n" };
    text += "\
  - services, targets, pools and mirror groups that were added, renamed or removed then
  - which member of a mirror group was stale: compare them afterwards (nyala mirror check)
  - rules of keys, and slots of metadata servers that had moved
Files and their data are not touched. If several nodes are left, look at each, and
recover the one whose last entry has the highest term, then the highest number.
";
    let todo = "Nothing was changed. If the others are lost for good, and their directories destroyed: add --yes\n";
    text + if report.answering.is_empty() {
        todo
    } else {
        "Nothing was changed, and nothing will be while another node answers.\n"
    }
}

/// What is to be done now.
pub fn done(report: &Report) -> String {
    let Remains { node, alias, last_entry, .. } = &report.remains;
    format!(
        "Management node {node} ({alias}) is all that there is of management, from entry {last_entry} on.\n\
         Start its service, compare mirrors (nyala mirror check), and add new nodes with empty\n\
         directories (nyala mgmtd --join). The old directories of the others are worth nothing any more.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_mgmt::Other;
    use nyala_wire::ClusterId;

    fn report(others: usize, answering: &[&str]) -> Report {
        let other =
            |n: u32| Other { node: n, alias: format!("mgmt{n}"), addresses: vec![([10, 0, 0, n as u8], 8008).into()] };
        let remains = Remains {
            dir: "/var/lib/nyala/mgmtd".into(),
            cluster: ClusterId([7; 16]),
            node: 1,
            alias: "mgmt1".into(),
            last_entry: 1234,
            last_term: 7,
            decided: 1233,
            voted_term: 9,
            map_version: 900,
            recoveries: 0,
            services: 5,
            targets: 8,
            addresses: Vec::new(),
            groups: 4,
            others: (2..).take(others).map(other).collect(),
        };
        Report { remains, answering: answering.iter().map(ToString::to_string).collect(), recovered: false }
    }

    #[test]
    fn a_look_says_what_may_be_lost_and_how_far_this_node_is() {
        let text = text(&report(2, &[]));
        let parts = [
            "last entry  1234 of term 7",
            "mgmt3",
            "10.0.0.2:8008",
            "after entry 1234, and there was an election after it",
            "add --yes",
        ];
        assert_eq!(parts.iter().find(|part| !text.contains(**part)), None, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn one_that_answers_and_one_that_is_alone_are_told_apart() {
        let answers = text(&report(2, &["mgmt2 (10.0.0.2:8008)"]));
        assert!(answers.contains("while another node answers") && !answers.contains("--yes"), "{answers}");
        let alone = text(&report(0, &[]));
        assert!(alone.contains("only management node") && !alone.contains("--yes"), "{alone}");
    }
}
