// SPDX-License-Identifier: Apache-2.0

//! `nyala health bundle`: what a bug report needs, in one archive.

use crate::bundle::{Contents, DEFAULT_TIME, Options, make};
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::output::{Output, Table, show};
use crate::units::{Size, Span};
use crate::up::{ClusterDir, DEFAULT_DIR};
use nyala_wire::host_report::MAX_REPORT_BYTES;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Flags of `nyala health bundle`.
#[derive(Clone, Debug, clap::Args)]
pub struct HealthBundleArgs {
    /// The archive; a file that exists is not replaced
    #[arg(long, value_name = "FILE", default_value = "nyala-bundle.tar.gz")]
    file: PathBuf,
    /// Newest part of each log that is taken
    #[arg(long, value_name = "SIZE", default_value = "8m")]
    log_size: Size,
    /// Leave other hosts out: their logs, settings, kernel and disks
    #[arg(long)]
    this_host_only: bool,
    /// Most of each other host, before it is compressed; 64m at most
    #[arg(long, value_name = "SIZE", default_value = "16m")]
    host_size: Size,
    /// Most of everything, before it is compressed
    #[arg(long, value_name = "SIZE", default_value = "256m")]
    most: Size,
    /// Longest time for asking services [default: 1m]
    #[arg(long, value_name = "TIME")]
    time: Option<Span>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A bundle that was made.
#[derive(Clone, Debug, Serialize)]
struct Made {
    file: PathBuf,
    #[serde(flatten)]
    contents: Contents,
}

/// Makes one.
pub fn run(args: HealthBundleArgs, output: Output) -> Outcome {
    let cluster = args.cluster.find();
    let named = args.cluster.dir.clone();
    // As ClusterArgs::find has it: the default directory is the last that is looked at.
    let default = args.cluster.mgmt.is_none()
        && args.cluster.config.is_none()
        && !Path::new(crate::config::CONFIG_DIR).join("client.toml").exists();
    let cluster_dir =
        named.or_else(|| default.then(|| DEFAULT_DIR.into())).map(ClusterDir::new).filter(ClusterDir::exists);
    // Of a cluster that is not there nothing can be told; one that does not answer is what bundles are for.
    if let Err(failure) = &cluster
        && (failure.exit == Exit::Usage || (args.cluster.dir.is_some() && cluster_dir.is_none()))
    {
        return Err(failure.clone());
    }
    let options = Options {
        cluster,
        cluster_dir,
        settings: args.cluster.config,
        secret: args.cluster.secret,
        log_bytes: args.log_size.0,
        this_host_only: args.this_host_only,
        host_bytes: args.host_size.0.min(MAX_REPORT_BYTES),
        most_bytes: args.most.0,
        time: args.time.map_or(DEFAULT_TIME, |span| span.0),
    };
    let contents = make(&options, &args.file)?;
    show(output, &Made { file: args.file, contents }, render)
}

fn render(made: &Made) -> String {
    let mut table = Table::new(&["NAME", "BYTES", "LEFT_OUT"]);
    for entry in &made.contents.entries {
        table.row([entry.name.clone(), entry.bytes.to_string(), entry.cut.clone().unwrap_or_default()]);
    }
    let mut text = table.render();
    if !made.contents.missing.is_empty() {
        text += "\nNot in it\n=========\n";
        made.contents.missing.iter().for_each(|missing| text += &format!("{}: {}\n", missing.what, missing.why));
    }
    text + &format!(
        "\n{} made. Look through it before you give it away: logs and names are as they are.\n",
        made.file.display()
    )
}
