// SPDX-License-Identifier: Apache-2.0

//! RAID levels, and how drives are divided among data and parity.

pub mod text;

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
}

/// Why there is no such set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// No level has this name.
    #[error("there is no RAID level `{text}`: give 0, 1, 5, 6, 7.3, 10, n+m, 50, 60 or 70")]
    UnknownLevel {
        /// What was written, cut.
        text: String,
    },
    /// Nested levels need a number of groups.
    #[error("levels 50, 60 and 70 need a number of groups")]
    GroupsMissing,
    /// N+M needs parity.
    #[error("level n+m needs a number of parity strips, at least 1")]
    NoParity,
    /// Not enough drives.
    #[error("RAID {level} needs at least {least} drives, not {drives}")]
    TooFewDrives {
        /// The level.
        level: Level,
        /// Drives given.
        drives: usize,
        /// Drives needed.
        least: usize,
    },
    /// A nested level has at least two groups.
    #[error("RAID {level} needs at least 2 groups, not {groups}")]
    TooFewGroups {
        /// The level.
        level: Level,
        /// Groups given.
        groups: usize,
    },
    /// Groups of different sizes.
    #[error("{drives} drives do not make {groups} equal groups for RAID {level}")]
    Uneven {
        /// The level.
        level: Level,
        /// Drives given.
        drives: usize,
        /// Groups wanted.
        groups: usize,
    },
    /// Too many drives.
    #[error("a set has at most {most} drives, not {drives}")]
    TooManyDrives {
        /// Drives given.
        drives: usize,
        /// Most drives.
        most: usize,
    },
    /// A strip size that is not supported.
    #[error("a strip has 4096 to 1048576 bytes, a multiple of 4096, not {bytes}")]
    StripBytes {
        /// What was given.
        bytes: usize,
    },
}
