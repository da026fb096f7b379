// SPDX-License-Identifier: Apache-2.0

//! Ports for the services of a new cluster.
//!
//! **Failure model.** A port that is free now may be taken when the service starts: the service then says so, and its log
//! lines are the error that the user sees.

use crate::exit::Failure;
use std::collections::BTreeSet;
use std::net::TcpListener;

/// Hands out ports that nobody listens on.
pub struct Ports {
    base: Option<u16>,
    given: BTreeSet<u16>,
    is_free: fn(u16) -> bool,
}

/// Groups of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortGroup {
    /// Management.
    Mgmt,
    /// REST API.
    Rest,
    /// Metadata.
    Meta,
    /// Storage.
    Storage,
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

impl Ports {
    /// From the field's defaults, or from `base` on.
    pub fn new(base: Option<u16>) -> Ports {
        Ports::where_free(base, is_free)
    }

    /// The same, with another way to tell which ports are free.
    pub fn where_free(base: Option<u16>, is_free: fn(u16) -> bool) -> Ports {
        Ports { base, given: BTreeSet::new(), is_free }
    }

    /// The next port of a group.
    pub fn next(&mut self, group: PortGroup) -> Result<u16, Failure> {
        let (offset, first, more) = match group {
            PortGroup::Mgmt => (0, 8008, 18008),
            PortGroup::Rest => (1, 8010, 18010),
            PortGroup::Meta => (10, 8005, 18100),
            PortGroup::Storage => (30, 8003, 18300),
        };
        if let Some(base) = self.base {
            // What was asked for is given or refused: whoever says where to begin wants to know the ports.
            let mut port = u32::from(base) + offset;
            while u16::try_from(port).is_ok_and(|port| self.given.contains(&port)) {
                port += 1;
            }
            let port = u16::try_from(port).ok().filter(|port| *port != 0);
            let port = port.ok_or_else(|| Failure::usage(format!("--base-port {base} is too high")))?;
            if !(self.is_free)(port) {
                return Err(Failure::failed(format!("port {port} is already in use; choose another --base-port")));
            }
            self.given.insert(port);
            return Ok(port);
        }
        let candidates = std::iter::once(first).chain(more..more + 1000);
        let mut fitting = candidates.filter(|port| !self.given.contains(port) && (self.is_free)(*port));
        let port = fitting.next().ok_or_else(|| Failure::failed("no free port found; name some with --base-port"))?;
        self.given.insert(port);
        Ok(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_ports_first_then_others() {
        let mut ports = Ports::where_free(None, |port| ![8010, 18300].contains(&port));
        let mut next = |group| ports.next(group).unwrap();
        assert_eq!(next(PortGroup::Mgmt), 8008);
        assert_eq!(next(PortGroup::Rest), 18010);
        assert_eq!((next(PortGroup::Meta), next(PortGroup::Meta)), (8005, 18100));
        assert_eq!((next(PortGroup::Storage), next(PortGroup::Storage)), (8003, 18301));
    }

    #[test]
    fn a_base_is_kept_to() {
        let mut ports = Ports::where_free(Some(20_000), |port| port != 20_012);
        let mut next = |group| ports.next(group).map_err(|error| error.message);
        assert_eq!((next(PortGroup::Mgmt), next(PortGroup::Rest)), (Ok(20_000), Ok(20_001)));
        assert_eq!((next(PortGroup::Meta), next(PortGroup::Meta)), (Ok(20_010), Ok(20_011)));
        assert!(next(PortGroup::Meta).unwrap_err().contains("20012"));
        assert_eq!(next(PortGroup::Storage), Ok(20_030));
        assert!(Ports::where_free(Some(65_530), |_| true).next(PortGroup::Storage).is_err());
    }

    #[test]
    fn taken_ports_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
