// SPDX-License-Identifier: Apache-2.0

//! An administrator who has slots moved between the metadata servers while clients work, and what has to hold of slots in the end.
//!
//! **Failure model.** What is ordered may be lost, done though the answer is lost, or refused; nobody orders it again. In the end nothing is
//! on its way, or it comes to an end by itself, and every slot has its rows where it is served, and nowhere else.

use super::cluster::{block_on, secret_file};
use super::disks::Rack;
use crate::check::ledger;
use crate::kernel::process::{self, Pid};
use crate::random::Random;
use nyala_namespace::keys;
use nyala_store::Options;
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role as Peer, Secret};
use nyala_wire::map::{ClusterMap, MemberState};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, SlotOrder};
use nyala_wire::{MapVersion, Slot, TargetId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::{Bound, ControlFlow};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest wait for an answer of management.
const CALL: Duration = Duration::from_secs(3);

/// Slots that a metadata server is given when it registers first.
const SLOTS_PER_SERVER: usize = 64;

/// The administrator orders nothing more.
static ENOUGH: AtomicBool = AtomicBool::new(false);
/// The map in the end.
static LAST_MAP: Mutex<Option<ClusterMap>> = Mutex::new(None);

struct Management(MgmtClient);

impl Management {
    fn new(mgmt: &[SocketAddr]) -> Management {
        let secret = Secret::load(&secret_file()).expect("it was made at the start");
        Management(MgmtClient::new(mgmt.to_vec(), HandshakeConfig::new(secret, 0, Peer::Cli, 0)))
    }

    async fn map(&self) -> Option<ClusterMap> {
        let request = MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 };
        match self.0.call_within(&request, CALL).await {
            Ok(MgmtReply::Map(map)) => Some(*map),
            _ => None,
        }
    }

    async fn order(&self, order: SlotOrder) {
        let done = self.0.call_within(&MgmtRequest::Slots(order), CALL).await;
        let outcome = if done.is_ok() { "slots: an order is taken" } else { "slots: an order is refused or lost" };
        ledger(|ledger| ledger.count(outcome));
    }
}

/// Has slots moved from time to time, until it is [`stop`]ped.
pub fn begin(mgmt: Vec<SocketAddr>, mut random: Random) -> Pid {
    process::begin(process::add_machine(), "administrator", move || {
        block_on(async {
            let (management, mut before) = (Management::new(&mgmt), None);
            while !ENOUGH.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(random.range(200..6000))).await;
                let Some(map) = management.map().await else { continue };
                let changed = before.map_or(0, |before| changed_hands(&before, &map));
                ledger(|ledger| *ledger.counts.entry("slots: changed hands".into()).or_default() += changed);
                if let Some(order) = next(&map, &mut random) {
                    tracing::info!("ADMINISTRATOR {order:?}");
                    management.order(order).await;
                }
                before = Some(map);
            }
        });
        process::exit(0);
    })
}

/// How many slots have another server than before.
fn changed_hands(before: &ClusterMap, now: &ClusterMap) -> u64 {
    let all = before.metadata_servers().flat_map(|server| before.slots_of(server).map(move |slot| (slot, server)));
    all.filter(|(slot, server)| now.slot_target(*slot) != Some(*server)).count() as u64
}

/// Nothing more is ordered.
pub fn stop() {
    ENOUGH.store(true, Ordering::Relaxed);
}

/// Slots with content go hither and thither, one server gives all away, or what is on its way is given up.
fn next(map: &ClusterMap, random: &mut Random) -> Option<SlotOrder> {
    let servers: Vec<TargetId> = map.metadata_servers().collect();
    let to = *random.pick(&servers);
    let others: Vec<Slot> =
        servers.iter().filter(|server| **server != to).flat_map(|from| map.slots_of(*from)).collect();
    let slots = match random.below(8) {
        0 => return Some(SlotOrder::Cancel { slots: Vec::new() }),
        1 => others,
        _ => {
            let busy = ledger(|ledger| ledger.busy.clone());
            let some = busy.into_iter().filter(|slot| others.contains(slot) && random.one_in(2));
            some.collect()
        }
    };
    (!slots.is_empty()).then_some(SlotOrder::Move { slots, to })
}

/// Waits until nothing is on its way any more, for ever; then the map is known to [`judge`].
pub fn wait(mgmt: &[SocketAddr]) -> Result<(), String> {
    block_on(async {
        let management = Management::new(mgmt);
        loop {
            let map = management.map().await;
            if let Some(map) = map.filter(|map| map.moves.is_empty() && map.planned.is_empty()) {
                *LAST_MAP.lock().expect("nobody panics with it") = Some(map);
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
}

/// What is wrong with slots, by the disks of all metadata targets, which no process uses.
pub fn judge(targets: &[(TargetId, Rack)]) -> Result<(), String> {
    let map = LAST_MAP.lock().expect("nobody panics with it").clone().ok_or("no map")?;
    let slots = map.slots.iter().map(|range| u64::from(range.count)).sum::<u64>();
    let served: BTreeSet<Slot> = map.metadata_servers().flat_map(|server| map.slots_of(server)).collect();
    let spares = map.groups.iter().filter(|group| group.serves.is_some()).count();
    if served.len() as u64 != slots || served.len() != SLOTS_PER_SERVER * (targets.len() - spares) {
        return Err(format!("not every slot has one server: {:?}", map.slots));
    }
    let mut found: BTreeMap<TargetId, BTreeSet<Slot>> = BTreeMap::new();
    for (target, rack) in targets {
        let (target, rows) = (*target, slots_with_rows(rack)?);
        let group = map.groups.iter().find(|group| group.members.contains(&target));
        // One that is not good has to be brought up to date, and may have anything.
        if group.is_some_and(|group| group.state(target) != Some(MemberState::Good)) {
            continue;
        }
        let server = group.map_or(Some(target), |group| group.serves);
        let left: Vec<&Slot> = rows.iter().filter(|slot| map.slot_target(**slot) != server).collect();
        if !left.is_empty() {
            return Err(format!("target {target} has rows of {left:?}, which it gave away: {:?}", map.slots));
        }
        found.entry(server.unwrap_or(target)).or_default().extend(rows);
    }
    let busy = ledger(|ledger| ledger.busy.clone());
    let missing = busy.iter().find(|slot| {
        let server = map.slot_target(**slot).and_then(|server| found.get(&server));
        !server.is_some_and(|rows| rows.contains(slot))
    });
    missing.map_or(Ok(()), |slot| Err(format!("no rows of slot {slot} are where it is served: {:?}", map.slots)))
}

fn slots_with_rows(rack: &Rack) -> Result<BTreeSet<Slot>, String> {
    let (store, _) = rack.open_store(Options::default()).map_err(|error| error.to_string())?;
    let mut slots = BTreeSet::new();
    let scanned = store.scan(Bound::Unbounded, Bound::Unbounded, &mut |key, _| {
        slots.extend(keys::parse_slot(key));
        ControlFlow::Continue(())
    });
    scanned.map(|()| slots).map_err(|error| error.to_string())
}
