// SPDX-License-Identifier: Apache-2.0

//! A drive that is lent out, as people write it.

use nyala_storage::ExportSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// A drive that targets of other hosts may lie on: `NAME=DIR`, or a table with these keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExportArg {
    /// Its name, unique on this host.
    pub name: String,
    /// Its directory, the root of a file system on a drive of its own.
    pub dir: PathBuf,
}

impl From<ExportArg> for ExportSpec {
    fn from(ExportArg { name, dir }: ExportArg) -> ExportSpec {
        ExportSpec { name, dir }
    }
}

impl FromStr for ExportArg {
    type Err = String;

    fn from_str(text: &str) -> Result<ExportArg, String> {
        match text.split_once('=') {
            Some((name, dir)) if !name.is_empty() && !dir.is_empty() => {
                Ok(ExportArg { name: name.to_owned(), dir: dir.into() })
            }
            _ => Err(format!("{text:?} is not NAME=DIR")),
        }
    }
}
