// SPDX-License-Identifier: Apache-2.0

//! What `nyala backup` says.

use crate::backup::{Kind, Manifest};
use crate::units::human_bytes;
use nyala_wire::time::utc;
use serde::Serialize;

/// What a backup is, and what was done with it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What it says of itself.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Of the backup, where it was made now.
    pub bytes: Option<u64>,
    /// Whether the directory has what the backup has.
    pub restored: bool,
}

/// Whose it is and when it was made.
pub fn text(report: &Report) -> String {
    let Manifest { kind, cluster, id, made_at, host, dir, version, .. } = &report.manifest;
    let what = match kind {
        Kind::Mgmt => "management node",
        Kind::Meta => "metadata target",
    };
    let mut text = format!(
        "{what} {id} of cluster {cluster}\n  made     {} UTC on {host}, from {dir}, by version {version}\n",
        utc(*made_at)
    );
    if let Some(bytes) = report.bytes {
        text += &format!("  size     {}\n", human_bytes(bytes));
    }
    text + "  checked  every file is what it was\n"
}

/// What a restored directory lacks.
pub fn lost(kind: Kind) -> &'static str {
    match kind {
        Kind::Mgmt => {
            "\nLost, if this is put back: what was decided since then.
  - services and targets that were added register again by themselves
  - what was removed is there again, and is to be removed again
  - mirror groups, pools, aliases, rules of keys, and which member of a group was stale
Other management nodes are given up. Nothing was changed; add --yes
"
        }
        Kind::Meta => {
            "\nLost, if this is put back: names, attributes and small files that were made or changed since then.
  - what was removed since then is there again without its data
  - the data of lost files stays on storage targets (nyala scrub --leftovers)
Unmount all clients first. Nothing was changed; add --yes
"
        }
    }
}

/// What is to be done now.
pub fn next(kind: Kind) -> &'static str {
    match kind {
        Kind::Mgmt => {
            "\nIt is put back, as the only management node. Start its service, then: nyala node list, nyala target list, nyala mirror check;
add further management nodes with empty directories.\n"
        }
        Kind::Meta => "\nIt is put back. Start its service; never use the directory that it replaces again.\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::ClusterId;

    #[test]
    fn it_is_said_what_is_lost_before_anything_is() {
        for (kind, word) in [(Kind::Mgmt, "what was removed is there again"), (Kind::Meta, "Unmount all clients first")]
        {
            let dir = "/data/x".to_owned();
            let (host, version, cluster) = ("h".to_owned(), "0.1".to_owned(), ClusterId([7; 16]));
            let manifest = Manifest { format: 1, kind, cluster, id: 3, made_at: 1_700_000_000, host, dir, version };
            let report = Report { manifest, bytes: Some(3 << 20), restored: false };
            let all = text(&report) + lost(kind);
            assert!(all.contains(word) && all.contains("add --yes") && all.contains("3.0MiB"), "{all}");
            assert!(all.contains("2023-11-14 22:13:20 UTC on h"), "{all}");
            assert!(next(kind).contains("Start its service"));
        }
    }
}
