// SPDX-License-Identifier: Apache-2.0

//! A site and what can be expected of it.

use crate::error::PlanError;
use crate::raid::Raid;
use serde::Serialize;

/// Bytes of a TB, as drives are sold.
const TB: f64 = 1e12;
/// Bytes of a TiB, as file systems count.
const TIB: f64 = (1_u64 << 40) as f64;
/// GB/s of a network of 1 Gbit/s.
const GB_PER_GBIT: f64 = 0.125;
/// The share of a link that streams of reads and writes were measured to fill (InfiniBand HDR100, one port a server).
const READ_SHARE: f64 = 0.95;
const WRITE_SHARE: f64 = 0.88;

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
}

/// What bounds throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The drives and their controllers.
    Drives,
    /// The servers' network.
    Network,
}

/// What can be expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Space of all drives, TB.
    pub raw_tb: f64,
    /// Space for files, TiB.
    pub usable_tib: f64,
    /// Streams of all clients together, GB/s.
    pub read_gb_s: f64,
    /// What bounds reading.
    pub read_limit: Limit,
    /// The same for writing.
    pub write_gb_s: f64,
    /// What bounds writing.
    pub write_limit: Limit,
    /// What was taken for granted.
    pub assumptions: Vec<&'static str>,
}

impl Site {
    /// What can be expected of it.
    pub fn estimate(&self) -> Result<Estimate, PlanError> {
        self.check()?;
        let (enclosures, copies) = (f64::from(self.enclosures), f64::from(self.copies));
        let raw_tb = enclosures * f64::from(self.drives) * self.drive_tb;
        let usable_tib = (1.0 - self.overhead) * raw_tb * self.raid.share() * TB / TIB / copies;
        let network = f64::from(self.servers) * self.network_gbit * GB_PER_GBIT;
        let bounded = |drives: f64, network: f64| {
            if drives <= network { (drives, Limit::Drives) } else { (network, Limit::Network) }
        };
        let (read_gb_s, read_limit) = bounded(enclosures * self.enclosure_read, network * READ_SHARE);
        // Each further copy is written by drives and received by a server once more.
        let (write_gb_s, write_limit) =
            bounded(enclosures * self.enclosure_write / copies, network * WRITE_SHARE / copies);
        let mut assumptions = vec![
            "throughput grows with the number of enclosures until the network is full (measured for 1, 2 and 4; beyond that it is assumed)",
            "every server has its share of enclosures, and clients and switches are faster than the servers together",
            "streams fill 95 % of a link when reading and 88 % when writing (measured on HDR100)",
        ];
        if self.copies > 1 {
            assumptions.push("a link sends as fast as it receives at once: copies pass from server to server beside what clients write");
        }
        Ok(Estimate { raw_tb, usable_tib, read_gb_s, read_limit, write_gb_s, write_limit, assumptions })
    }

    fn check(&self) -> Result<(), PlanError> {
        let count = |what, value: u32, most: u32, range| match value {
            value if (1..=most).contains(&value) => Ok(()),
            value => Err(PlanError::Range { what, value: value.to_string(), range }),
        };
        count("servers", self.servers, 10_000, "1 to 10000")?;
        count("enclosures", self.enclosures, 100_000, "1 to 100000")?;
        count("drives", self.drives, 1000, "1 to 1000")?;
        count("copies", self.copies, 4, "1 to 4")?;
        let number = |what, value: f64, most: f64, range| match value {
            value if value.is_finite() && value > 0.0 && value <= most => Ok(()),
            value => Err(PlanError::Range { what, value: value.to_string(), range }),
        };
        number("drive-size", self.drive_tb, 1000.0, "more than 0 and at most 1000 TB")?;
        number("enclosure-read", self.enclosure_read, 1000.0, "more than 0 and at most 1000 GB/s")?;
        number("enclosure-write", self.enclosure_write, 1000.0, "more than 0 and at most 1000 GB/s")?;
        number("network", self.network_gbit, 100_000.0, "more than 0 and at most 100000 Gbit/s")?;
        if !(0.0..0.5).contains(&self.overhead) {
            let value = self.overhead.to_string();
            return Err(PlanError::Range { what: "overhead", value, range: "a share from 0 to 0.5" });
        }
        let group = self.raid.data + self.raid.parity;
        let rest = self.drives % group;
        if rest > 0 || self.drives < group {
            let fits = self.drives - rest;
            return Err(PlanError::Groups { drives: self.drives, group, rest, fits });
        }
        if self.copies > self.servers {
            return Err(PlanError::Copies { copies: self.copies, servers: self.servers });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        crate::published::site(4, 8.0)
    }

    #[test]
    fn copies_halve_space_and_writes_and_leave_reads() {
        let one = site().estimate().unwrap();
        let two = Site { copies: 2, ..site() }.estimate().unwrap();
        assert!((one.usable_tib / two.usable_tib - 2.0).abs() < 1e-9);
        assert!((one.write_gb_s / two.write_gb_s - 2.0).abs() < 1e-9);
        assert_eq!((one.read_gb_s, two.assumptions.len()), (two.read_gb_s, one.assumptions.len() + 1));
    }

    #[test]
    fn the_limit_is_named() {
        let estimate = site().estimate().unwrap();
        assert_eq!((estimate.read_limit, estimate.write_limit), (Limit::Network, Limit::Network));
        let faster = Site { network_gbit: 400.0, ..site() }.estimate().unwrap();
        assert_eq!(faster.read_limit, Limit::Drives);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |site: Site| site.estimate().unwrap_err().to_string();
        assert!(refused(Site { servers: 0, ..site() }).contains("servers = 0"));
        assert!(refused(Site { enclosures: 0, ..site() }).contains("enclosures"));
        assert!(refused(Site { drives: 84, ..site() }).contains("--drives 80"));
        assert!(refused(Site { drives: 4, ..site() }).contains("groups of 10"));
        assert!(refused(Site { copies: 5, ..site() }).contains("copies"));
        assert!(refused(Site { copies: 3, ..site() }).contains("as many servers"));
        assert!(refused(Site { drive_tb: f64::NAN, ..site() }).contains("drive-size"));
        assert!(refused(Site { network_gbit: 0.0, ..site() }).contains("network"));
        assert!(refused(Site { enclosure_read: -1.0, ..site() }).contains("enclosure-read"));
        assert!(refused(Site { enclosure_write: 1e9, ..site() }).contains("enclosure-write"));
        assert!(refused(Site { overhead: 0.6, ..site() }).contains("overhead"));
        for bad in ["", "8", "8+", "+2", "0+2", "8+2+1", "a+b", "-1+2", "999+1"] {
            assert!(bad.parse::<Raid>().is_err(), "{bad}");
        }
        assert_eq!("8+2".parse(), Ok(Raid { data: 8, parity: 2 }));
    }
}
