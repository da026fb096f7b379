// SPDX-License-Identifier: Apache-2.0

//! Stopping services of a cluster on this machine.

use super::cluster_dir::ClusterDir;
use super::plan::{Kind, Plan, ServicePlan};
use super::service::{ServiceState, state};
use crate::exit::Failure;
use crate::mount::table;
use crate::mount::unmount::unmount;
use std::time::Duration;

/// How long a service may take for an orderly end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Stops one service. False if it had to be killed; true also if it did not run.
pub fn stop(cluster_dir: &ClusterDir, service: &ServicePlan, kill: bool) -> Result<bool, Failure> {
    let orderly = match state(cluster_dir, service) {
        ServiceState::Stopped => true,
        ServiceState::Running(running) if kill => running.kill().map(|()| true)?,
        ServiceState::Running(running) => running.stop(STOP_TIMEOUT)?,
    };
    cluster_dir.forget_process(&service.name);
    Ok(orderly)
}

/// Unmounts, then stops storage, metadata and management. What had to be killed is returned.
pub fn stop_all(cluster_dir: &ClusterDir, plan: &Plan, force: bool) -> Result<Vec<String>, Failure> {
    let mut killed = Vec::new();
    stop_mount(cluster_dir, plan, force)?;
    for kind in [Kind::Mount, Kind::Storage, Kind::Meta, Kind::Mgmtd] {
        for service in plan.of(kind) {
            if !stop(cluster_dir, service, false)? {
                killed.push(service.name.clone());
            }
        }
    }
    Ok(killed)
}

/// Unmounts this cluster's mount.
pub fn stop_mount(cluster_dir: &ClusterDir, plan: &Plan, force: bool) -> Result<(), Failure> {
    let ours = table::at(&plan.mount)?.is_some_and(|m| plan.source().is_ok_and(|source| m.source == source));
    if ours {
        // Who loses a copy of it elsewhere was told to the user there.
        unmount(&plan.mount, force)?;
    }
    for service in plan.of(Kind::Mount) {
        if let ServiceState::Running(running) = state(cluster_dir, service)
            && !force
            && ours
        {
            // It ends by itself once it is unmounted.
            running.wait(STOP_TIMEOUT);
        }
    }
    Ok(())
}
