// SPDX-License-Identifier: Apache-2.0

//! What a user asks of a cluster, and whether a cluster that exists is that. Pure.

use super::plan::{Kind, Plan};
use crate::exit::Failure;
use crate::units::{Size, Span};
use std::path::PathBuf;

/// What the user asked for; what is absent is the default, or what the cluster has already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Management services.
    pub mgmt: Option<u16>,
    /// Metadata services.
    pub meta: Option<u16>,
    /// Spare metadata services, each of which mirrors one of the others.
    pub meta_spares: Option<u16>,
    /// Storage targets.
    pub storage: Option<u16>,
    /// Storage services, which share the targets.
    pub storage_services: Option<u16>,
    /// Chunk size of the root directory.
    pub chunk_size: Option<Size>,
    /// Stripe width of the root directory.
    pub targets: Option<u16>,
    /// Mirror groups of all targets, mirrored files by default, and a spare for each metadata service unless their number is given.
    pub mirror: bool,
    /// Largest inline content.
    pub inline_size: Option<Size>,
    /// Silence after which a client loses what it holds.
    pub session_timeout: Option<Span>,
    /// Encrypt all traffic.
    pub encrypt: bool,
    /// First port.
    pub base_port: Option<u16>,
    /// Where to mount.
    pub mount: Option<PathBuf>,
}

impl Plan {
    fn check_mirror_option(&self, options: &ClusterOptions) -> Result<(), Failure> {
        if options.mirror && !self.mirror {
            return Err(Failure::usage(format!(
                "this cluster was made without --mirror; make groups with `nyala mirror create --auto` and mirror directories \
                 with `nyala entry set --pattern mirror {}`",
                self.mount.display()
            )));
        }
        Ok(())
    }

    /// Refuses options that differ from what the cluster is.
    pub fn check_options(&self, options: &ClusterOptions) -> Result<(), Failure> {
        if options.encrypt && !self.encrypt {
            return Err(Failure::usage(
                "this cluster was made without --encrypt; set `encrypt = true` in every file of its conf directory and in \
                 cluster.toml while it is down",
            ));
        }
        self.check_mirror_option(options)?;
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let count = |option: Option<u16>| option.map(u64::from);
        let bytes = |option: Option<Size>| option.map(|size| size.0);
        for (flag, option, is) in [
            ("--mgmt", count(options.mgmt), number(self.of(Kind::Mgmtd).count())),
            ("--meta", count(options.meta), number(self.of(Kind::Meta).filter(|service| !service.spare).count())),
            ("--meta-spares", count(options.meta_spares), number(self.spares())),
            ("--storage", count(options.storage), number(self.storage_targets())),
            ("--storage-services", count(options.storage_services), number(self.of(Kind::Storage).count())),
            ("--base-port", count(options.base_port), self.base_port.map_or(0, u64::from)),
        ] {
            if option.is_some_and(|option| option != is) {
                let was = if is == 0 { "without it".to_owned() } else { format!("with {flag} {is}") };
                return Err(Failure::usage(format!(
                    "this cluster was made {was} and cannot be changed by `nyala up`; leave {flag} away, or make another \
                     cluster with another --dir"
                )));
            }
        }
        if options.session_timeout.is_some() && options.session_timeout != self.session_timeout {
            return Err(Failure::usage("--session-timeout counts when the cluster is made only; leave it away"));
        }
        let width = count(options.targets.map(|width| width.min(self.most_width())));
        for (flag, key, option, is) in [
            ("--chunk-size", "--chunk-size", bytes(options.chunk_size), self.chunk_size.0),
            ("--targets", "--num-targets", width, self.num_targets.into()),
            ("--inline-size", "--inline-size", bytes(options.inline_size), self.inline_size.0),
        ] {
            if option.is_some_and(|option| option != is) {
                return Err(Failure::usage(format!(
                    "{flag} counts when the cluster is made only; use `nyala entry set {key} … {}` to change what new files \
                     get",
                    self.mount.display()
                )));
            }
        }
        Ok(())
    }
}
