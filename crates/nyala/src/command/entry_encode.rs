// SPDX-License-Identifier: Apache-2.0

//! `nyala entry encode PATH…`: erasure codes files that are to be and are not yet, and with `--repair` those that are, on good targets.
//!
//! **Failure model.** Each file is encoded for itself and whole: whoever is interrupted does the rest with the same command. A file that somebody
//! has open, or of which too little can be read, stays as it is and is counted, the first of these is named at the end, and the exit
//! code is 1; only a cluster that cannot be reached ends it. For the rest: `nyala_client::Client::encode`.

use super::entry_code::CodeArgs;
use super::entry_moved::Counts;
use crate::cluster::ClusterArgs;
use crate::entries::{FilterArgs, Search, Tree, Walked};
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::units::human_bytes;
use nyala_client::Encoding;
use nyala_wire::TargetId;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Flags of `nyala entry encode`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryEncodeArgs {
    /// Files, or directories with all that is below them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Also files that are encoded already: on targets that are in order, from what can be read
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A file that was encoded.
#[derive(Serialize)]
struct Encoded<'a> {
    path: &'a Path,
    inode: String,
    size: u64,
    data: u8,
    parity: u8,
    targets: Vec<TargetId>,
}

/// Encodes.
pub fn run(args: EntryEncodeArgs, output: Output) -> Outcome {
    let counts = Counts::default();
    let wanted = Encoding { code: args.code.code()?, again: args.repair, ..Encoding::default() };
    let (paths, cluster, filter) = (&args.paths, &args.cluster, &args.filter);
    let search = Search { paths, cluster, filter, max_depth: None, excludes: true };
    let so_far = || counts.so_far();
    let each = async |tree: &Tree, walked: &Walked| encode(&wanted, &counts, tree, walked).await;
    let told = search.each(output, "encode", Some(&so_far), each);
    let (files, size) = (counts.files.get(), human_bytes(counts.bytes()));
    eprintln!("{files} file{} encoded, {size} copied", if files == 1 { "" } else { "s" });
    told?;
    counts.end("encoded")
}

/// One entry; what is printed of it.
async fn encode(
    wanted: &Encoding,
    counts: &Counts,
    tree: &Tree,
    walked: &Walked,
) -> Result<Option<(Vec<u8>, serde_json::Value)>, Failure> {
    let (info, _) = &walked.found;
    let Some(code) = info.layout.as_ref().and_then(|layout| wanted.code.or(layout.code)) else { return Ok(None) };
    let Tree::Cluster(client) = tree else {
        return Err(Failure::failed("only with the cluster's secret: as root, or where nyala mount runs"));
    };
    let layout = match client.encode(info.attr.inode, wanted, |copied| counts.copied.set(copied)).await {
        Ok(Some((copied, layout))) => {
            counts.done(copied);
            layout
        }
        Ok(None) => return Ok(None),
        Err(error) => {
            counts.failed(&walked.path, error)?;
            return Ok(None);
        }
    };
    let (path, inode, size) = (walked.path.as_path(), info.attr.inode.to_string(), info.attr.size);
    let told = Encoded { path, inode, size, data: code.data, parity: code.parity, targets: layout.targets };
    let value = serde_json::to_value(&told).map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    Ok(Some(([walked.path.as_os_str().as_bytes(), b"\n"].concat(), value)))
}
