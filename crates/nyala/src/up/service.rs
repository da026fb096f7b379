// SPDX-License-Identifier: Apache-2.0

//! Starting one service of a cluster on this machine, and seeing whether it runs.

use super::cluster_dir::ClusterDir;
use super::plan::{Kind, Plan, ServicePlan};
use crate::exit::{Failure, io};
use crate::mount::table;
use crate::process::{ProcessId, Running};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A service that was just started.
pub struct Started {
    /// The process. Dropping this does not end it.
    pub child: Child,
    /// Length of its log when it was started.
    pub log_from: u64,
}

/// Whether a service runs.
pub enum ServiceState {
    /// It runs.
    Running(Running),
    /// It does not.
    Stopped,
}

/// Whether a service runs.
pub fn state(cluster_dir: &ClusterDir, service: &ServicePlan) -> ServiceState {
    let conf = cluster_dir.conf(&service.name);
    let running = cluster_dir.process(&service.name).and_then(|id| id.running(conf.to_str()));
    running.map_or(ServiceState::Stopped, ServiceState::Running)
}

/// Makes the mount point, unless a mount lies there, dead or alive.
fn make_mountpoint(mount: &Path) -> Result<(), Failure> {
    if table::at(mount)?.is_some() {
        return Ok(());
    }
    std::fs::create_dir_all(mount).map_err(io(format!("cannot make {}", mount.display())))
}

/// What is tried out from a shell, for a log or a test, rather than a property of the cluster.
fn meant_for_services(variable: &OsStr) -> bool {
    ["NYALA_LOG_LEVEL", "NYALA_FUSE_TRANSPORT"].iter().any(|name| variable == *name)
}

/// Starts a service in the background. Its configuration file is made if there is none.
pub fn start(cluster_dir: &ClusterDir, plan: &Plan, service: &ServicePlan) -> Result<Started, Failure> {
    if service.kind == Kind::Mount {
        make_mountpoint(&plan.mount)?;
    }
    let (conf, log) = (cluster_dir.conf(&service.name), cluster_dir.log(&service.name));
    if !conf.exists() {
        super::files::write_whole(&conf, &plan.configuration(cluster_dir, service)?)?;
    }
    let log_file = OpenOptions::new().create(true).append(true).open(&log);
    let log_file = log_file.map_err(io(format!("cannot open {}", log.display())))?;
    let log_from = log_file.metadata().map_or(0, |metadata| metadata.len());
    let mut command = Command::new("/proc/self/exe");
    // The directory and the files say all; what this shell has set is not meant for the services.
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().starts_with("NYALA_") && !meant_for_services(name)) {
        command.env_remove(name);
    }
    command.env("NYALA_LOG_FILE", &log);
    match service.kind {
        Kind::Mgmtd => command.arg("mgmtd"),
        Kind::Meta => command.arg("meta"),
        Kind::Storage => command.arg("storage"),
        Kind::Mount => command.arg("mount").arg(plan.source()?).arg(&plan.mount).arg("--foreground"),
    };
    command.arg("--config").arg(&conf).arg("--own-session").current_dir(cluster_dir.dir());
    let errors = log_file.try_clone().map_err(io(format!("cannot open {}", log.display())))?;
    command.stdin(Stdio::null()).stdout(Stdio::from(log_file)).stderr(Stdio::from(errors));
    let child = command.spawn().map_err(io(format!("cannot start {}", service.name)))?;
    // A process that has ended already has no id any more; whoever waits for it sees that.
    if let Some(id) = i32::try_from(child.id()).ok().and_then(ProcessId::of) {
        cluster_dir.set_process(&service.name, id)?;
    }
    Ok(Started { child, log_from })
}
