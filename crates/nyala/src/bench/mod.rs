// SPDX-License-Identifier: Apache-2.0

//! `nyala bench`: the same workloads through the native client, a mount and a local file system, with the CPU time that
//! each service spent, next to what loopback TCP gives.
//!
//! `failure` is a study of its own: what applications see when a server goes away.
//!
//! `plan` says what is done (pure), `driver` does it, `engine` runs it on threads, `measure` takes time, `report` shows.

mod all;
mod args;
mod caches;
mod driver;
mod engine;
mod failure;
mod measure;
mod plan;
mod report;
mod session;
mod sessions;
mod sites;
mod stop;
#[cfg(test)]
mod tests;

pub use args::BenchArgs;

use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;

/// Runs a benchmark and prints its report.
pub fn run(args: BenchArgs, output: Output) -> Outcome {
    let (report, json) = match args {
        BenchArgs::Failure(args) => return failure::run(args, output),
        BenchArgs::Meta(args) => {
            (block_on(session::run("meta", &args.common, args.workloads(), false))?, args.common.json)
        }
        BenchArgs::Data(args) => {
            let workloads = args.workloads()?;
            (block_on(session::run("data", &args.common, workloads, !args.keep_caches))?, args.common.json)
        }
        BenchArgs::Sessions(args) => {
            if let Some(count) = args.hold {
                return block_on(sessions::hold(&args, count)).map(|()| Exit::Ok);
            }
            let report = block_on(sessions::run(&args))?;
            return show(if args.json { Output::Json } else { output }, &report, sessions::render);
        }
        BenchArgs::All(args) => return all::run(&args, output),
    };
    show(if json { Output::Json } else { output }, &report, report::table::render)?;
    if report.interrupted {
        return Err(Failure::failed("the benchmark was ended by a signal"));
    }
    Ok(Exit::Ok)
}
