// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala plan`.

use super::numbers::{decimal, whole};
use nyala_plan::{Fabric, Raid, Site};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What an enclosure of the published blocks streams, GB/s.
const ENCLOSURE_READ: f64 = 6.84;
const ENCLOSURE_WRITE: f64 = 5.74;
/// Longest time of a phase of a measurement, seconds.
const MOST_SECONDS: u32 = 60;

/// Flags of `nyala plan`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// Storage servers
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole)]
    pub servers: u32,
    /// Enclosures of drives behind all servers together
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole)]
    pub enclosures: u32,
    /// Drives of an enclosure, without spares
    #[arg(long, value_name = "N", default_value = "80", value_parser = whole)]
    pub drives: u32,
    /// Size of a drive, TB as it is sold
    #[arg(long, value_name = "TB", default_value = "16", value_parser = decimal)]
    pub drive_size: f64,
    /// Drives of a RAID group that hold data and parity: 8+2; 1+0 for none
    #[arg(long, value_name = "DATA+PARITY", default_value = "8+2")]
    pub raid: Raid,
    /// Copies of each file: 1, or the members of a mirror group
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub copies: u32,
    /// Share of the space that the local file systems take
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = decimal)]
    pub overhead: f64,
    /// What an enclosure streams when it is read, GB/s [default: 6.84]
    #[arg(long, value_name = "GB/S", value_parser = decimal)]
    pub enclosure_read: Option<f64>,
    /// What an enclosure streams when it is written, GB/s [default: 5.74]
    #[arg(long, value_name = "GB/S", value_parser = decimal)]
    pub enclosure_write: Option<f64>,
    /// Network of each server, Gbit/s, all ports together
    #[arg(long, value_name = "GBIT/S", default_value = "100", value_parser = decimal)]
    pub network: f64,
    /// Clients; 0: as many as it takes
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole)]
    pub clients: u32,
    /// Network of each client, Gbit/s, all ports together
    #[arg(long, value_name = "GBIT/S", default_value = "100", value_parser = decimal)]
    pub client_network: f64,
    /// Metadata servers; 0 where metadata services run on the storage servers
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole)]
    pub meta: u32,
    /// Hosts for management alone; 0 where it runs on the other servers
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole)]
    pub mgmt: u32,
    /// Network ports of each host
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub ports: u32,
    /// Switches: every host has a port on each
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub switches: u32,
    /// Ports of a switch [default: as many as it takes]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub switch_ports: Option<u32>,
    /// Controllers of an enclosure, each cabled to two servers; 0: drives are inside the servers
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole)]
    pub controllers: u32,
    /// List every cable: which port of which host goes where
    #[arg(long)]
    pub cables: bool,
    /// Draw the site into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Measure this machine: a directory on each file system that a target would lie on (once for each); together they count as an enclosure
    #[arg(long, value_name = "DIR")]
    pub measure: Vec<PathBuf>,
    /// Longest time to write, and to read, in each directory that is measured
    #[arg(long, value_name = "S", default_value = "3", value_parser = whole)]
    pub seconds: u32,
    /// Show the published table of building blocks that the defaults come from
    #[arg(long, conflicts_with_all = ["measure", "svg", "cables"])]
    pub published: bool,
}

impl PlanArgs {
    /// What only makes no sense together, or is not the arithmetic's business.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_SECONDS).contains(&self.seconds) {
            return Err(format!("--seconds {} is out of range: write a number from 1 to {MOST_SECONDS}", self.seconds));
        }
        if self.measure.is_empty() {
            return Ok(());
        }
        if self.enclosure_read.is_some() || self.enclosure_write.is_some() {
            let said = "--measure says what an enclosure streams: leave --enclosure-read and --enclosure-write out, or --measure";
            return Err(said.to_owned());
        }
        let mut seen = BTreeSet::new();
        for dir in &self.measure {
            let shown = dir.display();
            if !seen.insert(dir) {
                return Err(format!("--measure {shown} stands there twice: name each directory once"));
            }
            if !dir.is_dir() {
                return Err(format!(
                    "--measure {shown} is no directory of this machine: write one on the file system that is to be measured"
                ));
            }
        }
        Ok(())
    }

    /// What is to be bought.
    pub fn site(&self) -> Site {
        Site {
            servers: self.servers,
            enclosures: self.enclosures,
            drives: self.drives,
            drive_tb: self.drive_size,
            raid: self.raid,
            copies: self.copies,
            overhead: self.overhead,
            enclosure_read: self.enclosure_read.unwrap_or(ENCLOSURE_READ),
            enclosure_write: self.enclosure_write.unwrap_or(ENCLOSURE_WRITE),
            network_gbit: self.network,
            server_read: None,
            server_write: None,
            clients: self.clients,
            client_gbit: self.client_network,
        }
    }

    /// What connects it.
    pub fn fabric(&self) -> Fabric {
        Fabric {
            meta: self.meta,
            mgmt: self.mgmt,
            ports: self.ports,
            switches: self.switches,
            switch_ports: self.switch_ports,
            controllers: self.controllers,
        }
    }
}
