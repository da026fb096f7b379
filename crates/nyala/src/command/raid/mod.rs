// SPDX-License-Identifier: Apache-2.0

//! `nyala raid`: drive sets, which are RAID in software under storage targets.
//!
//! **Failure model.** A set in use is asked through its service, which may be away: that is said. What changes something says first what it would do, and does it with `--yes`.
//! Asked again, nothing is done twice: a directory that is of a set already is refused, and one that a set is gone from has nothing to delete.

pub mod ask;
mod check;
pub mod create;
pub mod delete;
pub mod delete_first;
pub mod far;
mod modify;
mod rebuild;
mod replace;
mod show;
mod start;

use crate::exit::Outcome;
use crate::output::Output;

/// `nyala raid …`
#[derive(Debug, clap::Subcommand)]
pub enum RaidCommand {
    /// Make a drive set, and a new storage target on it, of empty directories of this host
    Create(create::RaidCreateArgs),
    /// Show the drive sets of targets: level, drives, what they miss, rebuild and check
    Show(show::RaidShowArgs),
    /// Change the rate of rebuilds, the limit of errors, or the spares of a set in use
    Modify(modify::RaidModifyArgs),
    /// Take an empty directory of the storage host in the place of a drive; it is rebuilt by itself
    Replace(replace::RaidReplaceArgs),
    /// Start a set that does not start by itself, without drives that never come back
    Start(start::RaidStartArgs),
    /// Set how fast drives are rebuilt, and wait until they are
    Rebuild(rebuild::RaidRebuildArgs),
    /// Delete a set that no service uses, with everything on it; its drives can be used again
    Delete(delete::RaidDeleteArgs),
    /// Compare all of a set with its checksums and parity, heal what is wrong, and wait for the end
    Check(check::RaidCheckArgs),
}

/// Does it.
pub fn run(command: RaidCommand, output: Output) -> Outcome {
    match command {
        RaidCommand::Create(args) => create::run(args, output),
        RaidCommand::Show(args) => show::run(args, output),
        RaidCommand::Modify(args) => modify::run(args, output),
        RaidCommand::Replace(args) => replace::run(args, output),
        RaidCommand::Start(args) => start::run(args, output),
        RaidCommand::Rebuild(args) => rebuild::run(args, output),
        RaidCommand::Delete(args) => delete::run(args, output),
        RaidCommand::Check(args) => check::run(args, output),
    }
}
