// SPDX-License-Identifier: Apache-2.0

//! Levels as people write them.

use super::{GeometryError, Level};
use std::fmt;
use std::str::FromStr;

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
