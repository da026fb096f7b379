// SPDX-License-Identifier: Apache-2.0

//! The nyala binary: services, mounts and commands. `docs/cli.md` describes it.

mod backup;
mod bench;
mod bundle;
mod cli;
mod cluster;
mod command;
mod compat;
mod completion;
mod config;
mod entries;
mod exit;
mod fsck;
mod host;
mod logging;
mod mount;
mod output;
#[cfg(test)]
mod packaged;
mod process;
mod progress;
mod role;
mod setup;
mod tune;
mod units;
mod up;
mod walk;

use clap::Parser;
use exit::{Exit, Outcome};
use std::ffi::OsString;
use std::process::ExitCode;

/// The services and the mount make and free many small pieces, often on different threads (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.first().is_some_and(|name| mount::helper::is_helper(name)) {
        return as_helper(&args[1..]);
    }
    if let Some(name) = args.first().and_then(|name| compat::called_as(name)) {
        return as_old_command(name, &args[1..]);
    }
    completion::answer(<cli::Cli as clap::CommandFactory>::command);
    ExitCode::from(finish(cli::run(cli::Cli::parse_from(args))) as u8)
}

/// Says what went wrong, if something did.
fn finish(outcome: Outcome) -> Exit {
    outcome.unwrap_or_else(|failure| {
        eprintln!("nyala: {failure}");
        failure.exit
    })
}

/// As one of the commands of BeeGFS; whatever goes wrong, the code is 1.
fn as_old_command(name: &'static str, args: &[OsString]) -> ExitCode {
    let outcome = logging::LogArgs::default().start("error").and_then(|()| compat::run(name, args));
    ExitCode::from(u8::from(finish(outcome) != Exit::Ok))
}

/// As `mount.fuse.nyala`; with the exit codes of `mount(8)`: 1 wrong call, 32 no mount.
fn as_helper(args: &[OsString]) -> ExitCode {
    let exit = finish(mount::helper::parse(args).and_then(role::mount::run_helper));
    ExitCode::from(match exit {
        Exit::Ok => 0,
        Exit::Usage | Exit::Config => 1,
        _ => 32,
    })
}
