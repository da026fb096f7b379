// SPDX-License-Identifier: Apache-2.0

//! The cables of a site: which port of which host goes to which switch, and which controller of an enclosure to which server.
//!
//! - **Network.** Port `n` of every host goes to switch `n`, and again from the first one where a host has more ports than there are
//!   switches. So every host has a port on every switch, any two reach each other through one switch, and no cable between switches is needed.
//! - **Drives.** Of an even number of servers, each two are a pair that shares its enclosures; of an odd number, each shares with the
//!   next one. Every controller of an enclosure has a cable to both servers, so that either server and either controller may fail.
//!   The first server is the one that serves the enclosure's targets in normal operation; servers get their turn one after the other.

use crate::error::{PlanError, count};
use crate::site::Site;
use serde::Serialize;

/// Hosts besides the storage servers, and what all of them are connected by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fabric {
    /// Metadata servers.
    pub meta: u32,
    /// Hosts that run management alone; 0 where it runs on the other servers.
    pub mgmt: u32,
    /// Network ports of each host.
    pub ports: u32,
    /// Switches.
    pub switches: u32,
    /// Ports of a switch; none: as many as it takes.
    pub switch_ports: Option<u32>,
    /// Controllers of an enclosure; 0 where the drives are inside the servers.
    pub controllers: u32,
}

/// What a cable carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// The network of the file system.
    Network,
    /// Drives of an enclosure.
    Drives,
}

/// A cable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cable {
    /// What it carries.
    pub carries: Carries,
    /// The host, or the enclosure, at one end.
    pub from: String,
    /// Its port: `net1`, or the controller `A`.
    pub from_port: String,
    /// The switch, or the server, at the other end.
    pub to: String,
    /// Its port.
    pub to_port: String,
    /// Speed of the host's port, Gbit/s; of cables to drives it is not known.
    pub gbit: Option<f64>,
}

/// Kinds of hosts, in the order in which they get ports of a switch, with the number of each and the speed of a port.
fn hosts(site: &Site, fabric: &Fabric) -> [(&'static str, u32, f64); 4] {
    let port = |gbit: f64| gbit / f64::from(fabric.ports);
    [
        ("storage", site.servers, port(site.network_gbit)),
        ("meta", fabric.meta, port(site.network_gbit)),
        ("mgmt", fabric.mgmt, port(site.network_gbit)),
        ("client", site.clients, port(site.client_gbit)),
    ]
}

impl Fabric {
    /// Whether the site can be cabled so.
    fn check(&self, site: &Site) -> Result<(), PlanError> {
        count("meta", self.meta, 0..=10_000, "a number up to 10000, or 0 where metadata runs on the storage servers")?;
        count("mgmt", self.mgmt, 0..=5, "0 where management runs on the other servers, or 1, 3 or 5 hosts of its own")?;
        count("ports", self.ports, 1..=16, "the network ports of each host, 1 to 16")?;
        count("switches", self.switches, 1..=16, "a number from 1 to 16")?;
        count("controllers", self.controllers, 0..=4, "1 to 4, or 0 where the drives are inside the servers")?;
        if matches!(self.mgmt, 2 | 4) {
            let range = "an odd number (1, 3 or 5): an even one survives no more losses than the odd one below it";
            return Err(PlanError::Range { flag: "mgmt", value: self.mgmt.to_string(), range });
        }
        if self.switches > self.ports {
            return Err(PlanError::Switches { switches: self.switches, ports: self.ports });
        }
        if self.controllers == 0 && site.enclosures != site.servers {
            return Err(PlanError::Inside { enclosures: site.enclosures, servers: site.servers });
        }
        let hosts: u32 = hosts(site, self).iter().map(|(_, number, _)| number).sum();
        let needed = hosts * self.ports.div_ceil(self.switches);
        count("switch-ports", self.switch_ports.unwrap_or(1), 1..=u32::MAX, "the ports of one switch, at least 1")?;
        match self.switch_ports {
            Some(has) if has < needed => Err(PlanError::SwitchPorts { hosts, ports: self.ports, needed, has }),
            _ => Ok(()),
        }
    }

    /// The servers that share an enclosure (counted from 0), the one that serves it first.
    pub fn servers_of(&self, site: &Site, enclosure: u32) -> (u32, Option<u32>) {
        let first = enclosure % site.servers;
        let next = if site.servers.is_multiple_of(2) { first ^ 1 } else { (first + 1) % site.servers };
        (first, (self.controllers > 0 && next != first).then_some(next))
    }
}

/// All cables: first the network, by host; then the drives, by enclosure.
pub fn cables(site: &Site, fabric: &Fabric) -> Result<Vec<Cable>, PlanError> {
    fabric.check(site)?;
    let (mut cables, mut taken) = (Vec::new(), vec![0_u32; fabric.switches as usize]);
    for (kind, number, gbit) in hosts(site, fabric) {
        for host in 1..=number {
            for port in 0..fabric.ports {
                let switch = port % fabric.switches;
                taken[switch as usize] += 1;
                cables.push(Cable {
                    carries: Carries::Network,
                    from: format!("{kind}{host}"),
                    from_port: format!("net{}", port + 1),
                    to: format!("switch{}", switch + 1),
                    to_port: taken[switch as usize].to_string(),
                    gbit: Some(gbit),
                });
            }
        }
    }
    drives(site, fabric, &mut cables);
    Ok(cables)
}

fn drives(site: &Site, fabric: &Fabric, cables: &mut Vec<Cable>) {
    let mut taken = vec![0_u32; site.servers as usize];
    let enclosures = if fabric.controllers == 0 { 0 } else { site.enclosures };
    for enclosure in 0..enclosures {
        let (first, second) = fabric.servers_of(site, enclosure);
        for controller in 0..fabric.controllers {
            for (port, server) in [first].into_iter().chain(second).enumerate() {
                taken[server as usize] += 1;
                cables.push(Cable {
                    carries: Carries::Drives,
                    from: format!("enclosure{}", enclosure + 1),
                    from_port: format!("{}{}", ["A", "B", "C", "D"][controller as usize % 4], port + 1),
                    to: format!("storage{}", server + 1),
                    to_port: format!("drives{}", taken[server as usize]),
                    gbit: None,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;
    use std::collections::BTreeSet;

    const FABRIC: Fabric = Fabric { meta: 2, mgmt: 0, ports: 1, switches: 1, switch_ports: None, controllers: 2 };

    fn ends(cables: &[Cable]) -> Vec<(&str, &str)> {
        let from = cables.iter().map(|cable| (cable.from.as_str(), cable.from_port.as_str()));
        from.chain(cables.iter().map(|cable| (cable.to.as_str(), cable.to_port.as_str()))).collect()
    }

    #[test]
    fn the_published_blocks_are_cabled() {
        // Four arrays with two controllers behind a pair of servers: each server reaches each controller.
        let cables = cables(&published::site(4, 16.0), &FABRIC).unwrap();
        let to_drives: Vec<&Cable> = cables.iter().filter(|cable| cable.carries == Carries::Drives).collect();
        assert_eq!((cables.len(), to_drives.len()), (2 + 2 + 16, 16));
        let each: BTreeSet<_> = to_drives.iter().map(|cable| (&cable.from, &cable.from_port[..1], &cable.to)).collect();
        assert_eq!(each.len(), 4 * 2 * 2);
        assert_eq!(cables[0].gbit, Some(100.0));
    }

    #[test]
    fn no_port_is_used_twice_and_every_host_is_on_every_switch() {
        for (servers, enclosures, ports, switches, controllers) in
            [(1, 1, 1, 1, 2), (2, 3, 2, 2, 2), (3, 7, 4, 2, 1), (5, 5, 3, 2, 0), (6, 11, 2, 1, 4)]
        {
            let site = Site { servers, enclosures, clients: 3, ..published::site(1, 4.0) };
            let fabric = Fabric { ports, switches, controllers, mgmt: 3, ..FABRIC };
            let cables = cables(&site, &fabric).unwrap();
            let all = ends(&cables);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{servers} servers: {cables:?}");
            let network = cables.iter().filter(|cable| cable.carries == Carries::Network);
            let pairs: BTreeSet<_> = network.map(|cable| (&cable.from, &cable.to)).collect();
            assert_eq!(pairs.len(), ((servers + 2 + 3 + 3) * switches) as usize);
            let drives = cables.iter().filter(|cable| cable.carries == Carries::Drives).count() as u32;
            assert_eq!(drives, enclosures * controllers * servers.min(2));
        }
    }

    #[test]
    fn servers_serve_as_many_enclosures_as_others_do() {
        let site = Site { servers: 4, enclosures: 8, ..published::site(1, 4.0) };
        let mut serves = [0; 4];
        for enclosure in 0..8 {
            let (first, second) = FABRIC.servers_of(&site, enclosure);
            serves[first as usize] += 1;
            assert_eq!(second.map(|second| second / 2), Some(first / 2), "both are of one pair");
        }
        assert_eq!(serves, [2; 4]);
    }
}
