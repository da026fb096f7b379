// SPDX-License-Identifier: Apache-2.0

//! `nyala backup …`: copies of what management and metadata services keep. Failure model: that of [`crate::backup`]; without `--yes` nothing is put back.

use super::backup_text::{Report, lost, next, text};
use super::mgmt_recover::{answering, user};
use crate::backup::{self, Kind, Manifest};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_transport::Secret;
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
