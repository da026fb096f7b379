// SPDX-License-Identifier: Apache-2.0

//! RAID levels, and how drives are divided among data and parity.

use crate::error::GeometryError;
use std::fmt;
use std::str::FromStr;

/// A RAID level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striping, no redundancy.
    Raid0,
    /// Every drive has a copy.
    Raid1,
    /// Striping over pairs of copies.
    Raid10,
    /// One parity strip a stripe.
    Raid5,
    /// Two parity strips a stripe.
    Raid6,
    /// Three parity strips a stripe.
    Raid73,
    /// Any number of parity strips a stripe.
    NPlusM {
        /// Parity strips.
        parity: u8,
    },
    /// Striping over groups of RAID 5.
    Raid50 {
        /// Groups.
        groups: u8,
    },
    /// Striping over groups of RAID 6.
    Raid60 {
        /// Groups.
        groups: u8,
    },
    /// Striping over groups of RAID 7.3.
    Raid70 {
        /// Groups.
        groups: u8,
    },
}

/// How many of what a set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub groups: usize,
    pub data: usize,
    pub parity: usize,
}

impl Level {
    /// How `drives` drives are divided; an error says how many it takes.
    pub(crate) fn shape(self, drives: usize) -> Result<Shape, GeometryError> {
        let (groups, parity, least) = match self {
            Level::Raid0 => (1, 0, 1),
            Level::Raid1 => (1, drives.saturating_sub(1), 2),
            Level::Raid10 => (drives / 2, 1, 4),
            Level::Raid5 => (1, 1, 3),
            Level::Raid6 => (1, 2, 4),
            Level::Raid73 => (1, 3, 5),
            Level::NPlusM { parity } => (1, usize::from(parity), usize::from(parity) + 2),
            Level::Raid50 { groups } => (usize::from(groups), 1, 3 * usize::from(groups)),
            Level::Raid60 { groups } => (usize::from(groups), 2, 4 * usize::from(groups)),
            Level::Raid70 { groups } => (usize::from(groups), 3, 5 * usize::from(groups)),
        };
        if drives < least {
            return Err(GeometryError::TooFewDrives { level: self, drives, least });
        }
        let nested = matches!(self, Level::Raid10 | Level::Raid50 { .. } | Level::Raid60 { .. } | Level::Raid70 { .. });
        if nested && groups < 2 {
            return Err(GeometryError::TooFewGroups { level: self, groups });
        }
        if matches!(self, Level::NPlusM { parity: 0 }) {
            return Err(GeometryError::NoParity);
        }
        let width = drives / groups;
        if width * groups != drives || (self == Level::Raid10 && width != 2) {
            return Err(GeometryError::Uneven { level: self, drives, groups });
        }
        Ok(Shape { groups, data: width - parity, parity })
    }

    /// The level's number in a superblock, and what goes with it (groups, or parity strips; otherwise 0).
    pub(crate) fn code(self) -> (u8, u8) {
        match self {
            Level::Raid0 => (0, 0),
            Level::Raid1 => (1, 0),
            Level::Raid10 => (10, 0),
            Level::Raid5 => (5, 0),
            Level::Raid6 => (6, 0),
            Level::Raid73 => (7, 0),
            Level::NPlusM { parity } => (100, parity),
            Level::Raid50 { groups } => (50, groups),
            Level::Raid60 { groups } => (60, groups),
            Level::Raid70 { groups } => (70, groups),
        }
    }

    pub(crate) fn of_code(code: u8, with: u8) -> Option<Level> {
        Some(match (code, with) {
            (0, 0) => Level::Raid0,
            (1, 0) => Level::Raid1,
            (10, 0) => Level::Raid10,
            (5, 0) => Level::Raid5,
            (6, 0) => Level::Raid6,
            (7, 0) => Level::Raid73,
            (100, parity) => Level::NPlusM { parity },
            (50, groups) => Level::Raid50 { groups },
            (60, groups) => Level::Raid60 { groups },
            (70, groups) => Level::Raid70 { groups },
            _ => return None,
        })
    }

    /// The level that a person wrote: `0`, `1`, `5`, `6`, `7.3`, `10`, `n+m` with `parity` strips, or `50`, `60`, `70` with `groups`.
    pub fn parse(text: &str, groups: Option<u8>, parity: Option<u8>) -> Result<Level, GeometryError> {
        let groups = |what: fn(u8) -> Level| groups.map(what).ok_or(GeometryError::GroupsMissing);
        match text {
            "n+m" | "N+M" => parity.map(|parity| Level::NPlusM { parity }).ok_or(GeometryError::NoParity),
            "50" => groups(|groups| Level::Raid50 { groups }),
            "60" => groups(|groups| Level::Raid60 { groups }),
            "70" => groups(|groups| Level::Raid70 { groups }),
            other => other.parse(),
        }
    }
}

impl FromStr for Level {
    type Err = GeometryError;

    fn from_str(text: &str) -> Result<Level, GeometryError> {
        Ok(match text {
            "0" => Level::Raid0,
            "1" => Level::Raid1,
            "5" => Level::Raid5,
            "6" => Level::Raid6,
            "7.3" => Level::Raid73,
            "10" => Level::Raid10,
            _ => return Err(GeometryError::UnknownLevel { text: text.chars().take(16).collect() }),
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Raid0 => f.write_str("0"),
            Level::Raid1 => f.write_str("1"),
            Level::Raid10 => f.write_str("10"),
            Level::Raid5 => f.write_str("5"),
            Level::Raid6 => f.write_str("6"),
            Level::Raid73 => f.write_str("7.3"),
            Level::NPlusM { parity } => write!(f, "n+{parity}"),
            Level::Raid50 { groups } => write!(f, "50 ({groups} groups)"),
            Level::Raid60 { groups } => write!(f, "60 ({groups} groups)"),
            Level::Raid70 { groups } => write!(f, "70 ({groups} groups)"),
        }
    }
}
