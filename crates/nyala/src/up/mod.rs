// SPDX-License-Identifier: Apache-2.0

//! A whole cluster on this machine: its directory, its services, their start and stop.
//!
//! ```text
//! DIR/cluster.toml   what the cluster consists of, written once before anything is started
//! DIR/secret         the cluster's secret (0600)
//! DIR/conf/NAME.toml configuration of each service; may be edited
//! DIR/run/NAME.pid   process of each service
//! DIR/log/NAME.log   its log
//! DIR/mgmt, metaN, storageN/node, storageN/tK   data
//! ```
//!
//! **Failure model.** `up` may die at any moment, or run twice at once: the directory is locked, `cluster.toml` appears
//! whole or not at all, every step can be done again. Services may die: `up` starts what does not run. A service may fail
//! to start, or not become ready: the error has the last lines of its log. Process ids may have been given to others: see
//! [`crate::process`].

mod cluster_dir;
mod configuration;
mod files;
mod options;
mod plan;
mod ports;
mod ready;
mod service;
mod stop;

pub use cluster_dir::ClusterDir;
pub use files::write_whole;
pub use options::ClusterOptions;
pub use plan::{Kind, Plan, ServicePlan};
pub use ready::{await_all, await_service};
pub use service::{ServiceState, start, state};
pub use stop::{stop, stop_all, stop_mount};

/// Where `nyala up` keeps its cluster unless something else is said.
pub const DEFAULT_DIR: &str = "/var/lib/nyala-up";
/// Where it mounts.
pub const DEFAULT_MOUNT: &str = "/mnt/nyala";
