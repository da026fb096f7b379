// SPDX-License-Identifier: Apache-2.0

//! What can be expected of a site: space, throughput, and what limits it.

use crate::error::PlanError;
use crate::site::Site;
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

/// What bounds throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The drives and their controllers.
    Drives,
    /// The servers' network.
    Network,
    /// The servers' processors.
    Processors,
    /// The clients' network.
    Clients,
}

impl Limit {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Drives => "the drives",
            Limit::Network => "the servers' network",
            Limit::Processors => "the servers' processors",
            Limit::Clients => "the clients' network",
        }
    }
}

/// What one part of the site allows, for streams of all clients together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The part.
    pub limit: Limit,
    /// Reading, GB/s.
    pub read_gb_s: f64,
    /// Writing, GB/s of files: each further copy is taken off.
    pub write_gb_s: f64,
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
    /// What every part allows; the smallest of each column is the estimate.
    pub bounds: Vec<Bound>,
    /// What was taken for granted.
    pub assumptions: Vec<&'static str>,
}

impl Estimate {
    /// What can be expected of it.
    pub fn of(site: &Site) -> Result<Estimate, PlanError> {
        site.check()?;
        let (enclosures, copies) = (f64::from(site.enclosures), f64::from(site.copies));
        let raw_tb = enclosures * f64::from(site.drives) * site.drive_tb;
        let usable_tib = (1.0 - site.overhead) * raw_tb * site.raid.share() * TB / TIB / copies;
        let drives = Bound {
            limit: Limit::Drives,
            read_gb_s: enclosures * site.enclosure_read,
            write_gb_s: enclosures * site.enclosure_write / copies,
        };
        let others = other_bounds(site);
        // Of equals the first one is named.
        let least = |of: fn(&Bound) -> f64| {
            others.iter().fold(&drives, |least, bound| if of(bound) < of(least) { bound } else { least })
        };
        let (read, write) = (least(|bound| bound.read_gb_s), least(|bound| bound.write_gb_s));
        Ok(Estimate {
            raw_tb,
            usable_tib,
            read_gb_s: read.read_gb_s,
            read_limit: read.limit,
            write_gb_s: write.write_gb_s,
            write_limit: write.limit,
            bounds: [drives].into_iter().chain(others.iter().copied()).collect(),
            assumptions: assumptions(site),
        })
    }
}

/// What everything but the drives allows. Each further copy is received by a server, checked and written once more.
fn other_bounds(site: &Site) -> Vec<Bound> {
    let (servers, copies) = (f64::from(site.servers), f64::from(site.copies));
    let network = servers * site.network_gbit * GB_PER_GBIT;
    let mut bounds = vec![Bound {
        limit: Limit::Network,
        read_gb_s: network * READ_SHARE,
        write_gb_s: network * WRITE_SHARE / copies,
    }];
    if let (Some(read), Some(write)) = (site.server_read, site.server_write) {
        let (read_gb_s, write_gb_s) = (servers * read, servers * write / copies);
        bounds.push(Bound { limit: Limit::Processors, read_gb_s, write_gb_s });
    }
    if site.clients > 0 {
        let clients = f64::from(site.clients) * site.client_gbit * GB_PER_GBIT;
        let (read_gb_s, write_gb_s) = (clients * READ_SHARE, clients * WRITE_SHARE);
        bounds.push(Bound { limit: Limit::Clients, read_gb_s, write_gb_s });
    }
    bounds
}

fn assumptions(site: &Site) -> Vec<&'static str> {
    let mut assumptions = vec![
        "throughput grows with the number of enclosures until the network is full (measured for 1, 2 and 4; beyond that it is assumed)",
        "every server has its share of enclosures, and switches are faster than the servers together",
        "streams fill 95 % of a link when reading and 88 % when writing (measured on HDR100)",
    ];
    if site.clients == 0 {
        assumptions.push("clients are faster than the servers together (--clients says how many there are)");
    }
    if site.copies > 1 {
        assumptions.push(
            "a link sends as fast as it receives at once: copies pass from server to server beside what clients write",
        );
    }
    if site.server_read.is_some() {
        assumptions.push("every server has processors and drives like this machine; its drives were measured one directory after the other, and are assumed to be as fast at once");
        assumptions.push("a floor is the least that the work costs (receive, check, write; read, check, send): a storage service needs more");
    }
    assumptions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raid::Raid;

    fn site() -> Site {
        crate::published::site(4, 8.0)
    }

    #[test]
    fn copies_halve_space_and_writes_and_leave_reads() {
        let one = Estimate::of(&site()).unwrap();
        let two = Estimate::of(&Site { copies: 2, ..site() }).unwrap();
        assert!((one.usable_tib / two.usable_tib - 2.0).abs() < 1e-9);
        assert!((one.write_gb_s / two.write_gb_s - 2.0).abs() < 1e-9);
        assert_eq!((one.read_gb_s, two.assumptions.len()), (two.read_gb_s, one.assumptions.len() + 1));
    }

    #[test]
    fn the_limit_is_named() {
        let limits =
            |site: Site| Estimate::of(&site).map(|estimate| (estimate.read_limit, estimate.write_limit)).unwrap();
        assert_eq!(limits(site()), (Limit::Network, Limit::Network));
        assert_eq!(limits(Site { network_gbit: 400.0, ..site() }), (Limit::Drives, Limit::Drives));
        let slow = Site { server_read: Some(2.0), server_write: Some(20.0), ..site() };
        assert_eq!(limits(slow), (Limit::Processors, Limit::Network));
        // One client sends a file once, whatever the copies; the servers pass it on.
        let few = Site { clients: 1, client_gbit: 100.0, copies: 2, ..site() };
        assert_eq!(limits(few.clone()), (Limit::Clients, Limit::Network));
        let estimate = Estimate::of(&few).unwrap();
        assert_eq!(estimate.bounds.len(), 3);
        assert!((estimate.read_gb_s - 11.875).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn groups_are_read() {
        for bad in ["", "8", "8+", "+2", "0+2", "8+2+1", "a+b", "-1+2", "999+1"] {
            assert!(bad.parse::<Raid>().is_err(), "{bad}");
        }
        assert_eq!("8+2".parse(), Ok(Raid { data: 8, parity: 2 }));
    }
}
