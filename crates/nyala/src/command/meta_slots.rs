// SPDX-License-Identifier: Apache-2.0

//! `nyala meta list`, `rebalance`, `drain` and `cancel`: which metadata server serves how much of the name space, and moves of it, which
//! go on while it is used.
//!
//! **Failure model.** A server that does not say how many inodes it has is not moved from or to. What was ordered goes on without this
//! command, also if a server or management is started again; it is shown by `list`.

use super::meta_slot_args::{MetaAutomaticArgs, MetaDrainArgs, MetaListArgs, MetaRebalanceArgs};
use super::meta_slot_tables::{self as tables, MoveRow, ServerRow};
use super::meta_slot_wait::until_moved;
use crate::cluster::{Cluster, ask_node};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_cluster::slots::plan::{SlotLoad, empty_out, even_out};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::SlotOrder;
use nyala_wire::{Slot, TargetId};
use std::collections::BTreeMap;

/// `nyala meta …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum MetaCommand {
    /// List the metadata servers, what they serve, and what is on its way between them
    List(MetaListArgs),
    /// Have parts of the name space served by metadata servers that have fewer inodes, while it is used
    Rebalance(MetaRebalanceArgs),
    /// Have all that a metadata server serves served by others, so that it can be removed
    Drain(MetaDrainArgs),
    /// Give up moves that are not complete, and those that are planned
    Cancel(MetaListArgs),
    /// Say whether, and how fast, a metadata server that joins gets its share by itself
    Automatic(MetaAutomaticArgs),
}

/// Does what the command says.
pub fn run(command: MetaCommand, output: Output) -> Outcome {
    block_on(async {
        match command {
            MetaCommand::List(args) => list(&args.cluster.find()?, output).await,
            MetaCommand::Cancel(args) => {
                let cluster = args.cluster.find()?;
                cluster.order_slots(SlotOrder::Cancel { slots: Vec::new() }).await?;
                list(&cluster, output).await
            }
            MetaCommand::Automatic(args) => {
                let cluster = args.cluster.find()?;
                let rebalance = args.replacing(&cluster.map().await?.settings.rebalance)?;
                cluster.order_slots(SlotOrder::Automatic { rebalance }).await?;
                list(&cluster, output).await
            }
            MetaCommand::Rebalance(args) => {
                let cluster = args.cluster.find()?;
                let map = cluster.map().await?;
                let moves = even_out(&loads(&cluster, &map).await);
                order(&cluster, &map, moves, (args.yes, args.wait), output).await
            }
            MetaCommand::Drain(MetaDrainArgs { target, how: args }) => {
                let cluster = args.cluster.find()?;
                let map = cluster.map().await?;
                if !map.metadata_servers().any(|server| server == target) {
                    let what = format!("target {} is no metadata server; see nyala meta list", target);
                    return Err(Failure::usage(what));
                }
                let loads = loads(&cluster, &map).await;
                if !loads.iter().any(|load| load.server == target) {
                    return Err(Failure::unreachable(format!(
                        "metadata server {target} does not answer; start it first"
                    )));
                }
                let moves = empty_out(&loads, target);
                let none = || Failure::failed("there is no other metadata server that answers; add one first");
                order(&cluster, &map, moves.ok_or_else(none)?, (args.yes, args.wait), output).await
            }
        }
    })
}

/// How many inodes servers have, of those that answer.
async fn inodes(cluster: &Cluster, map: &ClusterMap) -> BTreeMap<TargetId, u64> {
    let handshake = cluster.handshake();
    let mut found = BTreeMap::new();
    for server in map.metadata_servers() {
        let Some(node) = map.server_node(server) else { continue };
        let stats = ask_node(&node.addresses, &handshake).await.stats;
        let counted = stats.and_then(|stats| stats.counters.into_iter().find(|(name, _)| name == "inodes"));
        found.extend(counted.map(|(_, inodes)| (server, inodes)));
    }
    found
}

async fn loads(cluster: &Cluster, map: &ClusterMap) -> Vec<SlotLoad> {
    let stays = |slot: &Slot| map.slot_move(*slot).is_none();
    let load = |(server, inodes)| SlotLoad { server, slots: map.slots_of(server).filter(stays).collect(), inodes };
    inodes(cluster, map).await.into_iter().map(load).collect()
}

async fn list(cluster: &Cluster, output: Output) -> Outcome {
    let map = cluster.map().await?;
    let inodes = inodes(cluster, &map).await;
    let row = |target| ServerRow {
        target,
        node: map.server_node(target).map(|node| node.alias.clone()).unwrap_or_default(),
        slots: map.slots_of(target).count(),
        leaving: map.moves.iter().filter(|moving| moving.from == target).count(),
        coming: map.moves.iter().filter(|moving| moving.to == target).count(),
        planned: map.planned.iter().filter(|plan| plan.to == target).map(|plan| plan.slots.len()).sum(),
        inodes: inodes.get(&target).copied(),
        automatic: map.settings.rebalance.automatic,
    };
    let rows: Vec<ServerRow> = map.metadata_servers().map(row).collect();
    show(output, &rows, |rows| tables::servers(rows, &map.settings.rebalance))
}

/// Shows moves, and orders them if that is wanted.
async fn order(
    cluster: &Cluster,
    map: &ClusterMap,
    moves: Vec<(Slot, TargetId)>,
    (yes, wait): (bool, bool),
    output: Output,
) -> Outcome {
    let row = |&(slot, to): &(Slot, TargetId)| MoveRow { slot, from: map.slot_target(slot), to };
    let rows: Vec<MoveRow> = moves.iter().map(row).collect();
    let shown = show(output, &rows, |rows| tables::moves(rows, yes))?;
    if !yes {
        return Ok(shown);
    }
    let mut by_server: BTreeMap<TargetId, Vec<Slot>> = BTreeMap::new();
    moves.iter().for_each(|(slot, to)| by_server.entry(*to).or_default().push(*slot));
    for (to, slots) in by_server {
        cluster.order_slots(SlotOrder::Move { slots, to }).await?;
    }
    if wait {
        until_moved(cluster, moves.len() as u64).await?;
    }
    Ok(Exit::Ok)
}
