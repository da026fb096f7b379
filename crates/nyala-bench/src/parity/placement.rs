// SPDX-License-Identifier: Apache-2.0

//! How files lie on disks.

use serde::Serialize;

/// Targets and drives with data, and with parity.
pub const DATA: usize = 8;
/// The latter.
pub const PARITY: usize = 2;

/// How files lie on disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Over targets, without parity.
    Striped,
    /// Over targets, erasure coded.
    Coded,
    /// Over the drives of one target, without parity.
    PlainSet,
    /// Over the drives of one target, with RAID 6.
    ParitySet,
}

impl Placement {
    /// All of them, each behind what it is held against.
    pub const ALL: [Placement; 4] = [Placement::Striped, Placement::Coded, Placement::PlainSet, Placement::ParitySet];

    /// Its name for people.
    pub fn name(self) -> String {
        match self {
            Placement::Striped => format!("raid0 over {DATA} targets"),
            Placement::Coded => format!("ec {DATA}+{PARITY}"),
            Placement::PlainSet => format!("set of {DATA} drives, level 0"),
            Placement::ParitySet => format!("set of {} drives, level 6", DATA + PARITY),
        }
    }

    /// What it is held against.
    pub fn base(self) -> Option<Placement> {
        match self {
            Placement::Striped | Placement::PlainSet => None,
            Placement::Coded => Some(Placement::Striped),
            Placement::ParitySet => Some(Placement::PlainSet),
        }
    }
}
