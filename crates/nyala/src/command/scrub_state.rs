// SPDX-License-Identifier: Apache-2.0

//! What `nyala scrub status` says of a target.

use crate::units::human_bytes;
use nyala_wire::TargetId;
use nyala_wire::scrub::ScrubState;
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::time::utc;
use nyala_wire::walk::runs;
use serde::Serialize;

/// How a target's scrub is. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TargetStatus {
    pub target: TargetId,
    /// Why nothing is known.
    pub error: Option<String>,
    /// `off`, `waits` or `runs`; absent where nothing is known.
    pub state: Option<&'static str>,
    pub interval_s: u64,
    pub rate: u64,
    pub began_s: Option<u64>,
    pub ended_s: Option<u64>,
    pub due_s: Option<u64>,
    /// Of the scrub that is under way, or was last.
    pub bytes: u64,
    /// Of data on the target; 0 where its service does not know.
    pub total_bytes: u64,
    pub found_bytes: u64,
    pub repaired_bytes: u64,
    /// Known to be damaged now.
    pub damaged_bytes: u64,
    pub late: bool,
    pub damage: Vec<DamagedRange>,
}

/// A damaged range of a chunk file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedRange {
    /// The file, as `entry info` shows it, and as `ls -i` and `find -inum` do.
    pub inode: String,
    pub inode_number: u64,
    /// Stripe index.
    pub index: u16,
    /// In the chunk file, bytes.
    pub offset: u64,
    pub length: u64,
    pub found_s: u64,
    pub reason: String,
}

fn seconds(ms: u64) -> Option<u64> {
    (ms > 0).then_some(ms / 1000)
}

impl TargetStatus {
    /// As its service says.
    pub fn of(target: TargetId, found: ScrubState) -> TargetStatus {
        let state = match (found.interval_ms, found.at) {
            (0, _) => "off",
            (_, None) => "waits",
            (_, Some(_)) => "runs",
        };
        let mut damage = Vec::new();
        for piece in found.damage {
            let file = piece.at.file;
            damage.extend(runs(piece.bad).map(|(first, count)| DamagedRange {
                inode: file.inode.to_string(),
                inode_number: file.inode.0,
                index: file.index,
                offset: piece.at.offset + first * BLOCK_BYTES,
                length: count * BLOCK_BYTES,
                found_s: piece.found_ms / 1000,
                reason: piece.reason.clone(),
            }));
        }
        TargetStatus {
            target,
            error: None,
            state: Some(state),
            interval_s: found.interval_ms / 1000,
            rate: found.rate,
            began_s: seconds(found.began_ms),
            ended_s: seconds(found.ended_ms),
            due_s: seconds(found.due_ms),
            bytes: found.bytes,
            total_bytes: found.total_bytes,
            found_bytes: found.found_bytes,
            repaired_bytes: found.repaired_bytes,
            damaged_bytes: found.damaged_bytes,
            late: found.late,
            damage,
        }
    }

    /// What it does now.
    pub fn describe(&self) -> String {
        let percent = |part: u64, whole: u64| u128::from(part) * 100 / u128::from(whole.max(1));
        match (&self.error, self.state) {
            (Some(error), _) => error.clone(),
            (None, Some("runs")) if self.total_bytes == 0 => format!("runs, {} read", human_bytes(self.bytes)),
            (None, Some("runs")) => format!("runs, {}%", percent(self.bytes, self.total_bytes).min(100)),
            (None, Some("waits")) => format!("waits until {}", self.due_s.map_or_else(|| "-".to_owned(), utc)),
            (None, state) => state.unwrap_or("-").to_owned(),
        }
    }
}
