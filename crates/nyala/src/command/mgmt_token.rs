// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmt token`: a token of the page and the REST API for somebody, which ends.

use crate::config::{MgmtdSettings, Settings, load, load_default};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::units::Span;
use nyala_wire::time::utc;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest time for which a token is made.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Flags of `nyala mgmt token`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtTokenArgs {
    /// Who it is for; the audit log says so
    #[arg(value_name = "NAME")]
    name: String,
    /// How long it counts, up to 366d
    #[arg(long = "for", value_name = "TIME", default_value = "8h")]
    lasts: Span,
    /// It may change things too, not only look
    #[arg(long)]
    changes: bool,
    /// Directory of the management service of this host [default: what its configuration file says, or /var/lib/nyala/mgmtd]
    #[arg(long, env = "NYALA_MGMTD_DIR", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Configuration file of that service [default: /etc/nyala/mgmtd.toml, if there is one]
    #[arg(long, env = "NYALA_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What is printed.
#[derive(Serialize)]
struct Issued {
    token: String,
    name: String,
    changes: bool,
    ends_s: u64,
}

/// Makes a token.
pub fn run(args: MgmtTokenArgs, output: Output) -> Outcome {
    if args.lasts.0 < Duration::from_secs(1) || args.lasts.0 > LONGEST {
        return Err(Failure::usage(format!("a token is made for 1s to 366d, not for {}", args.lasts)));
    }
    let file: MgmtdSettings = args.config.as_deref().map_or_else(load_default, load)?;
    let dir = MgmtdSettings { dir: args.dir, ..MgmtdSettings::default() }.over(file).resolve()?.dir;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ends_s = (now + args.lasts.0).as_secs();
    let token = nyala_mgmt::issue_token(&dir, &args.name, args.changes, ends_s)?;
    let issued = Issued { token, name: args.name, changes: args.changes, ends_s };
    show(output, &issued, |issued| {
        let may = if issued.changes { "looks and changes things" } else { "looks" };
        format!("{}\n{} {may} with it until {} UTC.\n", issued.token, issued.name, utc(issued.ends_s))
    })
}
