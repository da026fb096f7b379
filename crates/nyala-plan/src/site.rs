// SPDX-License-Identifier: Apache-2.0

//! A site, and whether it makes sense.

use crate::error::{PlanError, amount, count};
use crate::raid::Raid;
use serde::Serialize;

/// What is to be bought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    /// Storage servers.
    pub servers: u32,
    /// Enclosures of drives, all alike, behind all servers together.
    pub enclosures: u32,
    /// Drives of an enclosure that are in RAID groups: without spares.
    pub drives: u32,
    /// Size of a drive, TB.
    pub drive_tb: f64,
    /// Groups of drives below a target.
    pub raid: Raid,
    /// Copies of each file on targets: 1, or the members of a mirror group.
    pub copies: u32,
    /// What the local file systems take, a share of the space.
    pub overhead: f64,
    /// What an enclosure streams when it is read, GB/s.
    pub enclosure_read: f64,
    /// What it streams when it is written, GB/s.
    pub enclosure_write: f64,
    /// Network of each server, Gbit/s, all ports together.
    pub network_gbit: f64,
    /// What the processors of one server stream when files are read, GB/s; unknown unless it was measured.
    pub server_read: Option<f64>,
    /// The same when files are written.
    pub server_write: Option<f64>,
    /// Clients; 0: as many as it takes.
    pub clients: u32,
    /// Network of each client, Gbit/s, all ports together.
    pub client_gbit: f64,
}

impl Site {
    /// Whether every number is in its range, and they fit each other.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        count("servers", self.servers, 1..=10_000, "a number from 1 to 10000")?;
        count("enclosures", self.enclosures, 1..=100_000, "a number from 1 to 100000")?;
        count("drives", self.drives, 1..=1000, "the drives of one enclosure, 1 to 1000")?;
        count("copies", self.copies, 1..=4, "1 for no mirrors, or 2 to 4")?;
        count("clients", self.clients, 0..=100_000, "a number up to 100000, or 0 for as many as it takes")?;
        amount("drive-size", self.drive_tb, 1000.0, "TB as printed on the drive, above 0 and at most 1000")?;
        amount("enclosure-read", self.enclosure_read, 1000.0, "GB/s above 0 and at most 1000")?;
        amount("enclosure-write", self.enclosure_write, 1000.0, "GB/s above 0 and at most 1000")?;
        amount("network", self.network_gbit, 100_000.0, "Gbit/s of one server, above 0 and at most 100000")?;
        amount("client-network", self.client_gbit, 100_000.0, "Gbit/s of one client, above 0 and at most 100000")?;
        if !(0.0..0.5).contains(&self.overhead) {
            let value = self.overhead.to_string();
            let range = "a share from 0 to below 0.5, as 0.01 for one percent";
            return Err(PlanError::Range { flag: "overhead", value, range });
        }
        let (drives, group) = (self.drives, self.raid.data + self.raid.parity);
        let rest = drives % group;
        if drives < group {
            return Err(PlanError::LargeGroup { drives, group });
        }
        if rest > 0 {
            return Err(PlanError::Groups { drives, group, rest, fits: drives - rest });
        }
        if self.copies > self.servers {
            return Err(PlanError::Copies { copies: self.copies, servers: self.servers });
        }
        Ok(())
    }
}
