// SPDX-License-Identifier: Apache-2.0

//! All facts about this host, and what could not be found out.

use super::links::{SpeedTest, links};
use super::{Root, clock, directories, file_system, hardware, interfaces, kernel_files, nodes, swap};
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::role::block_on;
use nyala_tune::Facts;
use std::path::PathBuf;

/// What was found out.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The facts.
    pub facts: Facts,
    /// What was looked at.
    pub looked_at: Vec<String>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
    /// Why management could not be asked for the servers.
    pub unreached: Option<String>,
}

/// Looks at the host, with further directories of storage targets, and asks the servers of a cluster, which then try to reach each other;
/// none where nobody is to be asked.
pub fn gather(root: &Root, targets: &[PathBuf], cluster: Option<(Result<Cluster, Failure>, SpeedTest)>) -> Gathered {
    let mut all = Gathered::default();
    let facts = &mut all.facts;
    (facts.swap, facts.clock) = (swap(root), clock());
    let directories = directories(root, targets);
    for directory in &directories {
        match file_system(root, directory) {
            Some(found) => facts.file_systems.push(found),
            None => {
                all.not_looked_at.push(format!("{}: the kernel does not say what it is on", directory.dir.display()))
            }
        }
    }
    if directories.is_empty() {
        all.not_looked_at.push("file systems: no settings file names a directory; give --target DIR".into());
    }
    let hardware = hardware(root, &directories);
    facts.settings = kernel_files(root, &hardware);
    match interfaces(root) {
        Ok(interfaces) => facts.interfaces = interfaces,
        Err(error) => all.not_looked_at.push(format!("interfaces: {}", error.message)),
    }
    match cluster {
        None => all.not_looked_at.push("servers: --offline".into()),
        Some((Err(error), _)) => all.not_looked_at.push(format!("servers: {}", error.message)),
        Some((Ok(cluster), speed)) => {
            match block_on(async { Ok((nodes(&cluster).await?, links(&cluster, speed).await?)) }) {
                Ok((nodes, looked)) => {
                    (facts.nodes, facts.links, facts.clocks) = (nodes, looked.links, looked.clocks);
                    all.not_looked_at.extend(looked.not_looked_at);
                }
                Err(error) => all.unreached = Some(error.message),
            }
        }
    }
    let settings = facts.settings.iter().filter(|file| file.texts.own.is_some()).count();
    let devices: Vec<&str> = hardware.devices.iter().map(|device| device.name.as_str()).collect();
    let devices = if devices.is_empty() { "none".to_owned() } else { devices.join(", ") };
    all.looked_at.push(format!("{} directories", facts.file_systems.len()));
    all.looked_at.push(format!("{settings} settings of the kernel"));
    all.looked_at.push(format!("block devices: {devices}"));
    all.looked_at.push(format!("{} interfaces, {} servers", facts.interfaces.len(), facts.nodes.len()));
    all.looked_at.push(format!("{} ways between servers, clocks of {} hosts", facts.links.len(), facts.clocks.len()));
    if facts.clock.is_some() {
        all.looked_at.push("whether something keeps the clock of this host in step".into());
    }
    all
}
