// SPDX-License-Identifier: Apache-2.0

//! A storage target, as people write it: in a directory, or on a drive set.

use crate::exit::Failure;
use crate::units::{Size, Span};
use nyala_raid::level::text;
use nyala_storage::{DriveLocation, SetSpec, TargetSpec};
use nyala_wire::TargetId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// One storage target: `DIR[,id=N][,alias=NAME][,limit=SIZE]`, or a table with these keys; in a file also one on a drive set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TargetArg {
    /// Its directory; empty if it lies on a drive set.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: PathBuf,
    /// Directories of its drives, each a file system of its own, instead of one directory; or drives that other hosts lend out: `net://HOST:PORT/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<String>,
    /// Their level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Their strip size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<Size>,
    /// Groups, with some levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u8>,
    /// Parity strips, with level n+m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<u8>,
    /// Drives that take the place of those that die, named as those. Several targets may have the same: whoever needs one first takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<String>,
    /// How long a drive is missing before a spare takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_after: Option<Span>,
    /// Wished id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<TargetId>,
    /// Wished alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Most bytes that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Size>,
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl TargetArg {
    /// What the service has to be told of it.
    pub fn spec(self) -> Result<TargetSpec, Failure> {
        let shape = SetShape { level: self.level, strip: self.strip, groups: self.groups, parity: self.parity };
        let set = match (is_empty(&self.dir), self.drives.is_empty()) {
            (false, true) if self.spares.is_empty() && self.spare_after.is_none() && shape == SetShape::default() => {
                None
            }
            (true, false) => {
                let set = shape.spec(&self.drives, &self.spares).map_err(Failure::config)?;
                Some(SetSpec { spare_after: self.spare_after.map(|span| span.0), ..set })
            }
            (true, true) => return Err(Failure::config("a target needs dir = \"…\" or drives = [\"…\", …]")),
            (false, _) => {
                let dir = self.dir.display();
                return Err(Failure::config(format!(
                    "the target {dir} has a directory, so it has no drives, level, strip, groups, parity, spares or spare-after"
                )));
            }
        };
        let first = set.as_ref().and_then(|set: &SetSpec| set.drives.first().map(|drive| drive.to_string().into()));
        Ok(TargetSpec {
            dir: first.unwrap_or(self.dir),
            id: self.id,
            alias: self.alias.unwrap_or_default(),
            limit_bytes: self.limit.map(|size| size.0),
            set,
        })
    }
}

impl FromStr for TargetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<TargetArg, String> {
        let mut parts = text.split(',');
        let dir = parts.next().filter(|dir| !dir.is_empty()).ok_or("a target begins with its directory")?;
        let mut target = TargetArg { dir: dir.into(), ..TargetArg::default() };
        for part in parts {
            match part.split_once('=') {
                Some(("id", id)) => target.id = Some(id.parse().map_err(|_| format!("{id:?} is not a target id"))?),
                Some(("alias", alias)) => target.alias = Some(alias.to_owned()),
                Some(("limit", limit)) => target.limit = Some(limit.parse().map_err(|e| format!("limit: {e}"))?),
                _ => return Err(format!("{part:?} is none of id=N, alias=NAME, limit=SIZE")),
            }
        }
        Ok(target)
    }
}

/// Level, strip size, groups or parity strips.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct SetShape {
    /// 0, 1, 10, 5, 6, 7.3, 50, 60, 70 or n+m
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<String>,
    /// Bytes that lie on one drive before the next one has its turn [default: 64k]
    #[arg(long, value_name = "SIZE")]
    pub strip: Option<Size>,
    /// With 50, 60 and 70: groups of drives, each with parity of its own
    #[arg(long, value_name = "N")]
    pub groups: Option<u8>,
    /// With n+m: drives that can be lost
    #[arg(long, value_name = "N")]
    pub parity: Option<u8>,
}

impl SetShape {
    /// A set of this shape on these drives.
    pub fn spec(&self, drives: &[String], spares: &[String]) -> Result<SetSpec, String> {
        let locations = |named: &[String]| {
            let locations = named.iter().map(|drive| drive.parse::<DriveLocation>()).collect::<Result<Vec<_>, _>>();
            locations.map_err(|error| error.to_string())
        };
        let (drives, spares) = (locations(drives)?, locations(spares)?);
        if let Some(twice) = spares.iter().find(|spare| drives.contains(spare)) {
            return Err(format!("{twice} is a drive of the set, and cannot be a spare of it too"));
        }
        let parse = |level: &String| text::parse(level, self.groups, self.parity);
        let level = self.level.as_ref().map(parse).transpose().map_err(|error| error.to_string())?;
        let strip_bytes = self.strip.map(|size| usize::try_from(size.0).unwrap_or(usize::MAX));
        Ok(SetSpec { drives, level, strip_bytes, spares, ..SetSpec::default() })
    }
}

#[cfg(test)]
mod tests;
