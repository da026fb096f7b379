// SPDX-License-Identifier: Apache-2.0

//! The parts of the whole, one after the other on one cluster.

use super::args::AllArgs;
use super::own::OwnCluster;
use super::scores::{Parts, mirror_figures};
use crate::bench::args::{BenchArgs, DataArgs, MetaArgs};
use crate::bench::failure::FailureArgs;
use crate::bench::sessions::{self, SessionsArgs};
use crate::bench::{failure, report, session};
use crate::exit::Failure;
use crate::role::block_on;
use clap::Parser;
use std::ffi::OsString;

/// Ports of the cluster that is measured.
const PORTS: u16 = 50;

/// The command line of a part; so that defaults stand in one place.
#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    bench: BenchArgs,
}

fn line(cluster: &OwnCluster, words: &[&str]) -> Result<BenchArgs, Failure> {
    let mut all: Vec<OsString> = std::iter::once("bench").chain(words.iter().copied()).map(OsString::from).collect();
    all.extend(["--dir".into(), cluster.home().into()]);
    let parsed = Line::try_parse_from(all).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(parsed.bench)
}

fn meta(cluster: &OwnCluster, args: &AllArgs, seconds: &str) -> Result<MetaArgs, Failure> {
    let files = if args.short { "100" } else { "2000" };
    let words =
        ["meta", "--seconds", seconds, "--files", files, "--only", "native,mount", "--workload", "easy,hard,small"];
    match line(cluster, &words)? {
        BenchArgs::Meta(mut meta) => {
            meta.common.mount = Some(cluster.mount());
            Ok(meta)
        }
        _ => Err(Failure::failed("bench meta is not what it was")),
    }
}

fn data(cluster: &OwnCluster, args: &AllArgs, seconds: &str) -> Result<DataArgs, Failure> {
    let (size, stream, random) = if args.short { ("4m", "32m", "100") } else { ("64m", "1g", "4000") };
    let words = ["data", "--seconds", seconds, "--size", size, "--stream-size", stream, "--random", random];
    match line(cluster, &words)? {
        BenchArgs::Data(mut data) => {
            data.common.mount = Some(cluster.mount());
            data.common.local = Some(cluster.beside());
            Ok(data)
        }
        _ => Err(Failure::failed("bench data is not what it was")),
    }
}

fn idle(cluster: &OwnCluster, args: &AllArgs, seconds: &str) -> Result<SessionsArgs, Failure> {
    let (idle, busy) = if args.short { (args.idle.min(200), "20") } else { (args.idle, "200") };
    let idle = idle.to_string();
    match line(cluster, &["sessions", "--seconds", seconds, "--idle", &idle, "--busy", busy])? {
        BenchArgs::Sessions(sessions) => Ok(sessions),
        _ => Err(Failure::failed("bench sessions is not what it was")),
    }
}

/// The study of failures makes a cluster of its own, behind the ports of ours.
fn mirrors(args: &AllArgs) -> Result<FailureArgs, Failure> {
    let (seconds, size) = if args.short { ("3", "48m") } else { ("8", "256m") };
    let line = Line::try_parse_from(["bench", "failure", "--seconds", seconds, "--file-size", size]);
    match line.map_err(|error| Failure::failed(error.to_string()))?.bench {
        BenchArgs::Failure(mut failure) => {
            failure.base_port = args.base_port.saturating_add(PORTS);
            failure.work = Some(args.work.join(format!("nyala-failure.{}", std::process::id())));
            Ok(failure)
        }
        _ => Err(Failure::failed("bench failure is not what it was")),
    }
}

fn told<T>(part: &str, result: Result<T, Failure>) -> Result<T, String> {
    result.map_err(|failure| {
        eprintln!("nyala bench {part}: {}", failure.message);
        format!("bench {part}: {}", failure.message)
    })
}

/// Runs all of them. A signal ends the whole.
pub fn measure(cluster: &OwnCluster, args: &AllArgs) -> Result<Parts, Failure> {
    let seconds = if args.short { "1".to_owned() } else { args.seconds.to_string() };
    let ended = |report: &Result<report::Report, String>| report.as_ref().is_ok_and(|report| report.interrupted);
    let stopped = || Err(Failure::failed("the benchmark was ended by a signal"));
    let (meta, data) = (meta(cluster, args, &seconds)?, data(cluster, args, &seconds)?);
    let (idle, mirrors) = (idle(cluster, args, &seconds)?, mirrors(args)?);

    let meta = told("meta", block_on(session::run("meta", &meta.common, meta.workloads(), false)));
    if ended(&meta) {
        return stopped();
    }
    let workloads = data.workloads()?;
    let data = told("data", block_on(session::run("data", &data.common, workloads, !args.short)));
    if ended(&data) {
        return stopped();
    }
    let sessions = told("sessions", block_on(sessions::run(&idle)));
    let mirrors = told("failure", failure::measure(&mirrors)).and_then(|report| mirror_figures(&report));
    Ok(Parts { meta, data, sessions, mirrors })
}
