// SPDX-License-Identifier: Apache-2.0

//! `nyala backup …`: copies of what management and metadata services keep.

use super::mgmt_recover::{answering, user};
use crate::backup::{self, Kind, Manifest};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::human_bytes;
use nyala_transport::Secret;
use nyala_wire::time::utc;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `nyala backup …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum BackupCommand {
    /// Make a backup of the directory of a stopped management or metadata service of this host
    Create(BackupCreateArgs),
    /// Read a backup whole, and show what it is of
    Show(BackupShowArgs),
    /// Put a backup back into an empty directory; what happened since it was made is lost
    Restore(BackupRestoreArgs),
}

/// Flags of `nyala backup create`.
#[derive(Clone, Debug, clap::Args)]
pub struct BackupCreateArgs {
    /// The service's directory (`dir` of its settings)
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The backup, a new file; it holds what the directory holds, tokens and small files among it
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

/// Flags of `nyala backup show`.
#[derive(Clone, Debug, clap::Args)]
pub struct BackupShowArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Flags of `nyala backup restore`.
#[derive(Clone, Debug, clap::Args)]
pub struct BackupRestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The service's directory: missing or empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The cluster's secret file, to ask whether management still runs (of a backup of management)
    #[arg(long, env = "NYALA_SECRET", value_name = "FILE", default_value = crate::config::DEFAULT_SECRET)]
    secret: PathBuf,
    /// The cluster's traffic is encrypted
    #[arg(long, env = "NYALA_ENCRYPT")]
    encrypt: bool,
    /// What happened since the backup was made is lost, and I know what that may be
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    manifest: Manifest,
    /// Of the backup, where it was made now.
    bytes: Option<u64>,
    /// Whether the directory has what the backup has.
    restored: bool,
}

/// Makes, shows or puts back.
pub fn run(command: BackupCommand, output: Output) -> Outcome {
    match command {
        BackupCommand::Create(args) => {
            let (manifest, bytes) = backup::create(&args.dir, &args.file)?;
            let report = Report { manifest, bytes: Some(bytes), restored: false };
            show(output, &report, |report| format!("{}Start its service again.\n", text(report)))
        }
        BackupCommand::Show(args) => {
            let report = Report { manifest: backup::show(&args.file)?, bytes: None, restored: false };
            show(output, &report, text)
        }
        BackupCommand::Restore(args) => restore(&args, output),
    }
}

fn restore(args: &BackupRestoreArgs, output: Output) -> Outcome {
    if !args.yes {
        let report = Report { manifest: backup::show(&args.file)?, bytes: None, restored: false };
        show(output, &report, |report| text(report) + lost(report.manifest.kind))?;
        return Ok(Exit::Usage);
    }
    let staged = |manifest: &Manifest, dir: &Path| match manifest.kind {
        Kind::Mgmt => go_on(args, dir),
        Kind::Meta => Ok(()),
    };
    let manifest = backup::restore(&args.file, &args.dir, staged)?;
    show(output, &Report { manifest, bytes: None, restored: true }, |report| text(report) + next(report.manifest.kind))
}

/// Makes what was put back all that there is of management, unless a management node still runs.
fn go_on(args: &BackupRestoreArgs, dir: &Path) -> Result<(), Failure> {
    let remains = nyala_mgmt::look_at_remains(dir)?;
    let secret = Secret::load(&args.secret)?;
    let answering = block_on(async { answering(secret, args.encrypt, &remains).await })?;
    if !answering.is_empty() {
        return Err(Failure::failed(format!(
            "management runs: {} answers; a copy beside it would give the same numbers again. Stop it for good first, or add a management \
             node instead (nyala mgmtd --join); nothing was changed",
            answering.join(" and ")
        )));
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    nyala_mgmt::go_on_from_copy(dir, user(), host)?;
    Ok(())
}

fn text(report: &Report) -> String {
    let Manifest { kind, cluster, id, made_at, host, dir, version, .. } = &report.manifest;
    let what = match kind {
        Kind::Mgmt => "management node",
        Kind::Meta => "metadata target",
    };
    let mut text = format!(
        "{what} {id} of cluster {cluster}\n  made     {} UTC on {host}, from {dir}, by version {version}\n",
        utc(*made_at)
    );
    if let Some(bytes) = report.bytes {
        text += &format!("  size     {}\n", human_bytes(bytes));
    }
    text + "  checked  every file is what it was\n"
}

/// What a restored directory lacks.
fn lost(kind: Kind) -> &'static str {
    match kind {
        Kind::Mgmt => {
            "\nLost, if this is put back: what was decided since then.
  - services and targets that were added register again by themselves
  - what was removed is there again, and is to be removed again
  - mirror groups, pools, aliases, rules of keys, and which member of a group was stale
Other management nodes are given up. Nothing was changed; add --yes
"
        }
        Kind::Meta => {
            "\nLost, if this is put back: names, attributes and small files that were made or changed since then.
  - what was removed since then is there again without its data
  - the data of lost files stays on storage targets (nyala scrub --leftovers)
Unmount all clients first. Nothing was changed; add --yes
"
        }
    }
}

/// What is to be done now.
fn next(kind: Kind) -> &'static str {
    match kind {
        Kind::Mgmt => {
            "\nIt is put back, as the only management node. Start its service, then: nyala node list, nyala target list, nyala mirror check;
add further management nodes with empty directories.\n"
        }
        Kind::Meta => "\nIt is put back. Start its service; never use the directory that it replaces again.\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::ClusterId;

    #[test]
    fn it_is_said_what_is_lost_before_anything_is() {
        for (kind, word) in [(Kind::Mgmt, "what was removed is there again"), (Kind::Meta, "Unmount all clients first")]
        {
            let dir = "/data/x".to_owned();
            let (host, version, cluster) = ("h".to_owned(), "0.1".to_owned(), ClusterId([7; 16]));
            let manifest = Manifest { format: 1, kind, cluster, id: 3, made_at: 1_700_000_000, host, dir, version };
            let report = Report { manifest, bytes: Some(3 << 20), restored: false };
            let all = text(&report) + lost(kind);
            assert!(all.contains(word) && all.contains("add --yes") && all.contains("3.0 MiB"), "{all}");
            assert!(all.contains("2023-11-14 22:13:20 UTC on h"), "{all}");
            assert!(next(kind).contains("Start its service"));
        }
    }
}
