// SPDX-License-Identifier: Apache-2.0

//! CPU time of a cluster's services, as they say it themselves (STATS), summed by role.
//!
//! **Failure model.** A service that is away or restarts in the middle makes the figures of that phase meaningless: no
//! answer is an error, and a clock that went back is reported as one.

use crate::report::Held;
use nyala_client::ClientConfig;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request, Role as Peer};
use nyala_wire::map::{ClusterMap, Role};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{WireError, codec, message_type};
use serde::Serialize;
use std::time::Duration;

/// How long a checkpoint may take.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// CPU time by role, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoleCpu {
    /// All management services.
    pub mgmt_us: u64,
    /// All metadata services.
    pub meta_us: u64,
    /// All storage services.
    pub storage_us: u64,
}

impl RoleCpu {
    /// What was used since; an error if a clock went back.
    pub fn since(&self, before: &RoleCpu) -> Result<RoleCpu, String> {
        let part = |now: u64, then: u64| now.checked_sub(then).ok_or("a service restarted during the benchmark");
        Ok(RoleCpu {
            mgmt_us: part(self.mgmt_us, before.mgmt_us)?,
            meta_us: part(self.meta_us, before.meta_us)?,
            storage_us: part(self.storage_us, before.storage_us)?,
        })
    }

    /// All together.
    pub fn total_us(&self) -> u64 {
        self.mgmt_us + self.meta_us + self.storage_us
    }
}

/// What services took until now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// CPU time.
    pub cpu: RoleCpu,
    /// CPU time of each metadata service, microseconds, by its name.
    pub meta_us: Vec<(String, u64)>,
    /// What metadata services hold.
    pub meta_held: Held,
}

impl Taken {
    fn add_meta(&mut self, name: String, stats: &ServiceStats) {
        self.cpu.meta_us += stats.cpu_us;
        self.meta_us.push((name, stats.cpu_us));
        self.meta_held.resident_bytes += stats.resident_bytes;
        let tables =
            stats.counters.iter().filter(|(name, _)| name.starts_with("store.") && name.ends_with(".table_bytes"));
        self.meta_held.table_bytes += tables.map(|(_, bytes)| bytes).sum::<u64>();
    }
}

/// All services of a cluster.
pub struct Services {
    pool: Pool,
    all: Vec<(Role, String, Endpoint)>,
}

impl Services {
    /// Those of the map, and management.
    pub fn new(config: &ClientConfig, map: &ClusterMap) -> Services {
        let mut handshake = HandshakeConfig::new(config.secret.clone(), 0, Peer::Cli, 0);
        handshake.encrypt = config.encrypt;
        let pool = Pool::new(handshake, PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 0 });
        let mgmt = config.mgmt.iter().map(|&at| (Role::Mgmt, format!("management {at}"), Endpoint::from(at)));
        let nodes = map.nodes.iter().filter(|node| matches!(node.role, Role::Meta | Role::Storage));
        let nodes = nodes.map(|node| (node.role, node.alias.clone(), Endpoint { addresses: node.addresses.clone() }));
        Services { pool, all: mgmt.chain(nodes).collect() }
    }

    /// How many services of a role.
    pub fn count(&self, role: Role) -> usize {
        self.all.iter().filter(|one| one.0 == role).count()
    }

    /// How many services.
    pub fn total(&self) -> usize {
        self.all.len()
    }

    /// CPU time of all of them, and what metadata services hold.
    pub async fn taken(&self) -> Result<Taken, String> {
        let mut all = Taken::default();
        for (role, name, stats) in self.stats().await? {
            match role {
                Role::Mgmt => all.cpu.mgmt_us += stats.cpu_us,
                Role::Meta => all.add_meta(name, &stats),
                Role::Storage => all.cpu.storage_us += stats.cpu_us,
                Role::Client => {}
            }
        }
        Ok(all)
    }

    /// Has metadata services put what was changed so far where it would be within half a minute, so that its CPU time is counted
    /// with the changes.
    pub async fn checkpoint(&self) -> Result<(), String> {
        for (_, name, endpoint) in self.all.iter().filter(|one| one.0 == Role::Meta) {
            let request = Request::new(message_type::META_CHECKPOINT, Vec::new()).with_timeout(CHECKPOINT);
            let frame = self.pool.call(endpoint, request).await.map_err(|error| format!("{name}: {error}"))?;
            if frame.header.is_error() {
                let why = codec::decode::<WireError>(&frame.body)
                    .map_or_else(|error| error.to_string(), |why| why.to_string());
                return Err(format!("{name} makes no checkpoint: {why}"));
            }
        }
        Ok(())
    }

    /// Asks all of them.
    pub async fn stats(&self) -> Result<Vec<(Role, String, ServiceStats)>, String> {
        let mut all = Vec::with_capacity(self.all.len());
        for (role, name, endpoint) in &self.all {
            let request = Request::new(message_type::STATS, Vec::new()).with_timeout(Duration::from_secs(10));
            let frame = self.pool.call(endpoint, request).await.map_err(|error| format!("{name}: {error}"))?;
            if frame.header.is_error() {
                return Err(format!("{name} does not tell its CPU time"));
            }
            let stats: ServiceStats =
                codec::decode(&frame.body).map_err(|error| format!("{name}: CPU time cannot be read: {error}"))?;
            all.push((*role, name.clone(), stats));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_all_stores_are_added_up() {
        let counters =
            [("store.1.table_bytes", 5), ("store.2.table_bytes", 6), ("store.1.free_bytes", 70), ("op.create", 80)];
        let counters = counters.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let stats = ServiceStats { cpu_us: 3, resident_bytes: 9, counters, ..ServiceStats::default() };
        let mut all = Taken::default();
        all.add_meta("a".to_owned(), &stats);
        all.add_meta("b".to_owned(), &stats);
        assert_eq!(all.meta_held, Held { resident_bytes: 18, table_bytes: 22 });
        assert_eq!((all.cpu.meta_us, all.meta_us.len()), (6, 2));
    }

    #[test]
    fn a_restarted_service_is_noticed() {
        let before = RoleCpu { mgmt_us: 5, meta_us: 10, storage_us: 20 };
        let after = RoleCpu { mgmt_us: 6, meta_us: 14, storage_us: 20 };
        assert_eq!(after.since(&before), Ok(RoleCpu { mgmt_us: 1, meta_us: 4, storage_us: 0 }));
        assert!(before.since(&after).unwrap_err().contains("restarted"));
        assert_eq!(after.total_us(), 40);
    }
}
