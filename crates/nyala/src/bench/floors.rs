// SPDX-License-Identifier: Apache-2.0

//! `nyala bench floor`: what minimal programs pay for the transfers of `nyala bench data`. Its defaults are those of `bench data` on a
//! cluster of `nyala up`: files of 64 MiB in chunks of 512 KiB over four targets of two storage services, 16 tasks.

use super::host;
use super::phases::Phases;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use crate::units::Size;
use nyala_bench::floors::{Options, Sizes, run as measure};
use nyala_bench::{BenchError, Ended, Stop};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `nyala bench floor`.
#[derive(Clone, Debug, clap::Args)]
pub struct FloorArgs {
    /// A directory on the file system that is measured: the files are made in one of its own in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// Requests under way at once, on all connections together
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// Connections, each with a thread at either end: as many as there are storage services
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub connections: u16,
    /// Bytes for each task
    #[arg(long, default_value = "64m")]
    pub size: Size,
    /// Files that a task's bytes lie in: as many as a file of the cluster has targets
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub targets: u16,
    /// Bytes of one sequential transfer: a chunk
    #[arg(long, default_value = "512k", value_name = "SIZE")]
    pub block: Size,
    /// Random transfers of 4 KiB for each task at most
    #[arg(long, default_value_t = 4000, value_name = "N")]
    pub random: u64,
    /// Longest time of a phase; 0: until all is done
    #[arg(long, default_value_t = 10, value_name = "S")]
    pub seconds: u64,
    /// How often all is done; the round in the middle counts
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Do not empty the page cache before reads
    #[arg(long)]
    pub keep_caches: bool,
    /// Compare every byte that is read with what was written
    #[arg(long)]
    pub verify: bool,
    /// Start of all random choices
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

impl FloorArgs {
    /// What is to be done.
    pub fn options(&self) -> Options {
        let (tasks, targets) = (usize::from(self.tasks), usize::from(self.targets));
        Options {
            work: self.work.clone(),
            sizes: Sizes {
                connections: self.connections.into(),
                depth: tasks,
                files: tasks * targets,
                file_bytes: self.size.0 / u64::from(self.targets),
                // Larger than any block that is allowed where it does not fit.
                block: usize::try_from(self.block.0).unwrap_or(usize::MAX),
                random: self.random.saturating_mul(self.tasks.into()),
                seed: self.seed,
            },
            limit: (self.seconds > 0).then(|| Duration::from_secs(self.seconds)),
            rounds: self.rounds,
            cold: !self.keep_caches,
            verify: self.verify,
            ended: Ended::default(),
        }
    }
}

/// Measures and prints.
pub fn run(args: &FloorArgs, output: Output) -> Outcome {
    let (options, stop) = (args.options(), Stop::default());
    options.sizes.checked().map_err(|error| Failure::usage(error.to_string()))?;
    let asked = stop.clone();
    let report = block_on(async {
        host::watch(&stop)?;
        let phases = Phases::new("bench floor", &options.ended, options.phases());
        let run = async {
            let run = tokio::task::spawn_blocking(move || measure(&options, &asked)).await;
            run.unwrap_or_else(|error| Err(BenchError::failed(format!("the floor died: {error}"))))
        };
        phases.during(run).await
    })?;
    let shown = show_document(output, &report, report.document())?;
    if report.interrupted { Err(BenchError::stopped().into()) } else { Ok(shown) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::args::line;

    #[test]
    fn defaults_are_those_of_data_on_a_cluster_of_up() {
        let args: FloorArgs = line(&[]).unwrap();
        let sizes = args.options().sizes.checked().unwrap();
        assert_eq!((sizes.files, sizes.file_bytes, sizes.block), (64, 16 << 20, 512 << 10));
        assert_eq!((sizes.connections, sizes.depth, sizes.window(), sizes.random), (2, 16, 8, 64_000));
        let data: super::super::args::DataArgs = line(&[]).unwrap();
        assert_eq!((data.common.tasks, data.size, data.random), (args.tasks, args.size, args.random));
        assert_eq!(data.common.limit(), args.options().limit);
    }

    #[test]
    fn senseless_sizes_are_a_matter_of_usage() {
        for flags in [["--block", "1000"], ["--block", "5m"], ["--size", "64k"]] {
            let args: FloorArgs = line(&flags).unwrap();
            let failure = run(&args, Output::Json).unwrap_err();
            assert!(failure.message.contains("block"), "{flags:?}: {failure}");
        }
    }

    #[test]
    fn a_tiny_run_prints_and_leaves_nothing() {
        let work = tempfile::tempdir().unwrap();
        let flags =
            ["--tasks", "2", "--size", "64k", "--block", "16k", "--random", "5", "--rounds", "1", "--keep-caches"];
        let args: FloorArgs = line(&flags).unwrap();
        let args = FloorArgs { work: work.path().to_owned(), verify: true, ..args };
        run(&args, Output::Json).unwrap();
        assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
    }
}
