// SPDX-License-Identifier: Apache-2.0

//! `nyala config check FILE`.

use crate::config::{ConfigRole, check};
use crate::exit::Outcome;
use crate::output::{Output, show};
use clap::ValueEnum;
use std::path::PathBuf;

/// Flags of `nyala config check`.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigCheckArgs {
    /// The configuration file
    pub file: PathBuf,
    /// Whose it is [default: what the file's name says]
    #[arg(long, value_enum)]
    pub role: Option<ConfigRole>,
}

/// Checks a file.
pub fn run(args: ConfigCheckArgs, output: Output) -> Outcome {
    let role = check(&args.file, args.role)?;
    let role = role.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let result = serde_json::json!({ "file": args.file, "role": role, "ok": true });
    show(output, &result, |_| format!("{}: OK ({role})\n", args.file.display()))
}
