// SPDX-License-Identifier: Apache-2.0

//! Flags of the benchmarks.

use crate::cluster::ClusterArgs;
use crate::exit::Failure;
use crate::units::Size;
use clap::{Args, Parser, ValueEnum};
use nyala_bench::plan::{Workload, data, meta};
use std::path::PathBuf;
use std::time::Duration;

/// Largest transfer: buffers of it are kept by every task.
const MAX_TRANSFER: u64 = 64 << 20;

/// Flags of both.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// Tasks that work at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// Longest time of a phase; 0: until all is done
    #[arg(long, default_value_t = 10, value_name = "S")]
    pub seconds: u64,
    /// Threads of the native client [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// A mount of the cluster [default: one that is there]
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// A directory on a local file system, to compare with [default: next to the cluster's]
    #[arg(long, value_name = "DIR")]
    pub local: Option<PathBuf>,
    /// Only there
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHERE,…")]
    pub only: Vec<BackendArg>,
    /// Compare every byte that is read with what was written
    #[arg(long)]
    pub verify: bool,
    /// Start of all random choices
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// As `--output json`
    #[arg(long)]
    pub json: bool,
    /// The cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Where to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// The client library in this process
    Native,
    /// System calls on a mount of the cluster
    Mount,
    /// System calls on a local file system
    Local,
}

/// Workloads of `meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MetaWorkload {
    /// Empty files, a directory for each task
    Easy,
    /// Files of 3,901 bytes, one directory for all
    Hard,
    /// Files of 4 KiB, a directory for each task
    Small,
    /// Directories
    Dirs,
}

/// Workloads of `data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataWorkload {
    /// A file for each task, sequential
    Easy,
    /// One file for all, records of 47,008 bytes
    Hard,
    /// 4 KiB at random places
    Random,
    /// One task, 1 MiB at a time
    Stream,
}

/// Flags of `nyala bench meta`.
#[derive(Clone, Debug, Args)]
pub struct MetaArgs {
    /// Flags of both
    #[command(flatten)]
    pub common: CommonArgs,
    /// Files of each task
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub files: u64,
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub workload: Vec<MetaWorkload>,
}

/// Flags of `nyala bench data`.
#[derive(Clone, Debug, Args)]
pub struct DataArgs {
    /// Flags of both
    #[command(flatten)]
    pub common: CommonArgs,
    /// Bytes of each task
    #[arg(long, default_value = "64m")]
    pub size: Size,
    /// Bytes of one sequential transfer
    #[arg(long, default_value = "1m", value_name = "SIZE")]
    pub transfer: Size,
    /// Random transfers of each task at most
    #[arg(long, default_value_t = 4000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub random: u64,
    /// Bytes of the single stream
    #[arg(long, default_value = "512m", value_name = "SIZE")]
    pub stream_size: Size,
    /// Do not empty the page cache before reads
    #[arg(long)]
    pub keep_caches: bool,
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub workload: Vec<DataWorkload>,
}

/// The command line of a part of a benchmark.
#[derive(Parser)]
struct Line<A: Args> {
    #[command(flatten)]
    args: A,
}

/// Flags as their command line has them, so that defaults stand in one place.
pub fn line<A: Args>(words: &[&str]) -> Result<A, Failure> {
    let all = std::iter::once("bench").chain(words.iter().copied());
    let parsed = Line::try_parse_from(all).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(parsed.args)
}

fn chosen<W: ValueEnum + PartialEq>(only: &[W]) -> Vec<&W> {
    W::value_variants().iter().filter(|one| only.is_empty() || only.contains(one)).collect()
}

impl CommonArgs {
    /// Longest time of a phase.
    pub fn limit(&self) -> Option<Duration> {
        (self.seconds > 0).then(|| Duration::from_secs(self.seconds))
    }

    /// Whether to work there.
    pub fn wants(&self, backend: BackendArg) -> bool {
        self.only.is_empty() || self.only.contains(&backend)
    }
}

impl MetaArgs {
    /// What is to be done.
    pub fn workloads(&self) -> Vec<Workload> {
        let sizes = meta::Sizes { tasks: self.common.tasks.into(), files: self.files, seed: self.common.seed };
        let make = |workload: &MetaWorkload| match workload {
            MetaWorkload::Easy => meta::easy(sizes),
            MetaWorkload::Hard => meta::hard(sizes),
            MetaWorkload::Small => meta::small(sizes),
            MetaWorkload::Dirs => meta::dirs(sizes),
        };
        chosen(&self.workload).into_iter().map(make).collect()
    }
}

impl DataArgs {
    /// What is to be done.
    pub fn workloads(&self) -> Result<Vec<Workload>, Failure> {
        if !(1..=MAX_TRANSFER).contains(&self.transfer.0) {
            return Err(Failure::usage(format!("--transfer {} is not between 1 and 64m", self.transfer)));
        }
        for (flag, size, least) in [
            ("--size", self.size, Size(self.transfer.0.max(data::HARD_BYTES as u64))),
            ("--stream-size", self.stream_size, Size(1 << 20)),
        ] {
            if size < least {
                return Err(Failure::usage(format!("{flag} {size} is less than one transfer; give at least {least}")));
            }
        }
        let sizes = data::Sizes {
            tasks: self.common.tasks.into(),
            bytes: self.size.0,
            transfer: self.transfer.0 as usize,
            random: self.random,
            seed: self.common.seed,
        };
        let make = |workload: &DataWorkload| match workload {
            DataWorkload::Easy => data::easy(sizes),
            DataWorkload::Hard => data::hard(sizes),
            DataWorkload::Random => data::random(sizes),
            DataWorkload::Stream => data::stream(data::Sizes { bytes: self.stream_size.0, ..sizes }),
        };
        Ok(chosen(&self.workload).into_iter().map(make).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_args(line: &str) -> DataArgs {
        Line::try_parse_from(line.split(' ')).unwrap().args
    }

    #[test]
    fn flags_choose_workloads_and_sizes() {
        let args = data_args("data --tasks 3 --size 8m --workload hard,random --only native,local");
        let workloads = args.workloads().unwrap();
        assert_eq!(workloads.iter().map(|one| one.name).collect::<Vec<_>>(), ["hard", "random"]);
        assert_eq!(workloads[0].phases[0].count, (8 << 20) / 47_008);
        assert!(args.common.wants(BackendArg::Local) && !args.common.wants(BackendArg::Mount));
        let all = data_args("data --seconds 0");
        assert_eq!((all.workloads().unwrap().len(), all.common.limit()), (4, None));
    }

    #[test]
    fn senseless_sizes_are_refused_with_the_flag() {
        for (line, flag) in [
            ("data --transfer 0", "--transfer"),
            ("data --transfer 1g", "--transfer"),
            ("data --size 512k", "--size"),
            ("data --size 8m --stream-size 4k", "--stream-size"),
        ] {
            assert!(data_args(line).workloads().unwrap_err().message.contains(flag), "{line}");
        }
        assert!(Line::<MetaArgs>::try_parse_from(["meta", "--tasks", "0"]).is_err());
    }
}
