// SPDX-License-Identifier: Apache-2.0

//! Clients that do not let go of what a metadata server asks them for.

use super::finding::{About, Finding, Severity};
use super::reported::{Reported, name};
use nyala_wire::map::{ClusterMap, Node};
use nyala_wire::mgmt::UnansweredRecall;

/// A client that has answered nothing for so long is worth a word: it was told twice, and most answers take milliseconds.
const SILENT_MS: u64 = 5_000;

pub(super) fn check(map: &ClusterMap, reports: &[Reported], all: &mut Vec<Finding>) {
    for report in reports {
        let (Some(node), Some(recalls)) = (map.node(report.by), &report.recalls) else { continue };
        let late: Vec<_> = recalls.oldest.iter().filter(|client| client.age_ms >= SILENT_MS).collect();
        let mut found = |what, advice| {
            all.push(Finding { severity: Severity::Degraded, about: About::Node(node.id), what, advice });
        };
        late.iter().for_each(|client| found(what(node, client), advice(map, node)));
        // The report has the oldest: those that it leaves out may be late only if all that it has are.
        if recalls.more > 0 && late.len() == recalls.oldest.len() {
            let what = format!("{} has asked {} further clients that have not answered yet", name(node), recalls.more);
            found(
                what,
                "So many at once have a cause in common: look at the network between clients and that server."
                    .to_owned(),
            );
        }
    }
}

fn what(node: &Node, client: &UnansweredRecall) -> String {
    let files = match client.inodes {
        1 => "1 file or directory".to_owned(),
        many => format!("{many} files and directories"),
    };
    format!(
        "client {} has not answered {} for {} s: operations of others on {files} wait for it",
        client.client,
        name(node),
        client.age_ms / 1000
    )
}

fn advice(map: &ClusterMap, node: &Node) -> String {
    format!(
        "Look at the client's host: whether the process of the mount runs (one that is stopped answers nothing), whether it \
         reaches {}, and whether it can write to its storage targets: it writes back before it answers. If it says \
         nothing at all, its session ends {} s after it was last heard of, and the others go on.",
        node.alias,
        map.settings.session_timeout_ms.div_ceil(1000)
    )
}
