// SPDX-License-Identifier: Apache-2.0

//! `nyala bench peers`: other file systems beside this one.

use super::host;
use super::phases::Phases;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use crate::units::Size;
use clap::{Args, ValueEnum};
use nyala_bench::peers::{Kind, Peers, Setup, Sizes, document, phases};
use nyala_bench::{Ended, Stop};
use std::path::PathBuf;
use std::time::Duration;

/// What to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// GlusterFS, of the package glusterfs-server
    Glusterfs,
    /// MooseFS, of the packages moosefs-master, moosefs-chunkserver and moosefs-client
    Moosefs,
    /// A directory of the file system that all work on
    Local,
}

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct PeersArgs {
    /// What to compare with
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Peer::Glusterfs, Peer::Moosefs, Peer::Local], value_name = "NAME,…")]
    pub with: Vec<Peer>,
    /// Copies of content: 1, or 2 on both servers (of this file system, metadata is mirrored too)
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub copies: u8,
    /// How often all do the same, after a first time that does not count
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Tasks that work at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub tasks: u16,
    /// Files, or random transfers, of each task
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub files: u64,
    /// Content of each task
    #[arg(long, default_value = "64m")]
    pub size: Size,
    /// Files of a tree that is unpacked, listed, copied and removed
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tree: u64,
    /// Longest time of a phase
    #[arg(long, default_value_t = 30, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// A directory on the file system that all work on: they are made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The first port; each uses the fifty from there (GlusterFS also 127.0.0.2:24007)
    #[arg(long, default_value_t = 10_850, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    pub base_port: u16,
}

/// Starts all, measures, compares and prints.
pub fn run(args: &PeersArgs, output: Output) -> Outcome {
    if args.size < Size(1 << 20) {
        return Err(Failure::usage(format!("--size {} is less than one transfer; give at least 1m", args.size)));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::usage("servers of other file systems, and empty caches, need root: run it as root"));
    }
    let work = std::path::absolute(&args.work).map_err(crate::exit::io("cannot tell where --work is"))?;
    let setup = Setup { host: host::this(), work, base_port: args.base_port, copies: args.copies };
    let sizes = Sizes {
        tasks: args.tasks,
        files: args.files,
        bytes: args.size.0,
        tree: args.tree,
        limit: Duration::from_secs(args.seconds),
    };
    let kinds: Vec<Kind> = args.with.iter().map(|peer| peer.kind()).collect();
    let peers = Peers::start(&kinds, &setup, sizes.clone())?;
    let (stop, ended) = (Stop::default(), Ended::default());
    let shown = Phases::new("bench peers", &ended, phases(&sizes, peers.count(), args.rounds));
    let compared = block_on(async {
        host::watch(&stop)?;
        shown.during(peers.run(args.rounds, &stop, &ended)).await
    })?;
    show_document(output, &compared, document(&compared))
}

impl Peer {
    fn kind(self) -> Kind {
        match self {
            Peer::Glusterfs => Kind::GlusterFs,
            Peer::Moosefs => Kind::MooseFs,
            Peer::Local => Kind::Local,
        }
    }
}
