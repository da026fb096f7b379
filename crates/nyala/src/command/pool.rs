// SPDX-License-Identifier: Apache-2.0

//! `nyala pool list`, `show`, `create`, `modify` and `delete`: storage pools, which directories name to say on which targets new files lie.
//!
//! **Failure model.** Several targets move one after the other: when this fails in the middle, those that have moved stay, and
//! `nyala pool modify POOL --targets …` moves the rest, also after a creation. Files that exist stay where they are, whatever is done here. Only a deletion cannot be taken back.

use super::pool_args::{PoolCommand, PoolCreateArgs, PoolDeleteArgs, PoolModifyArgs};
use super::pool_table::{known, named, table, text, view, views};
use crate::cluster::Cluster;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::map::ClusterMap;
use nyala_wire::pool_orders::PoolOrder;
use nyala_wire::{PoolId, TargetId};

/// Does what the command says.
pub fn run(command: PoolCommand, output: Output) -> Outcome {
    match command {
        PoolCommand::List(args) => {
            let map = block_on(async { args.cluster.find()?.map().await })?;
            show(output, &views(&map), |pools| table(pools))
        }
        PoolCommand::Show(args) => {
            let map = block_on(async { args.cluster.find()?.map().await })?;
            let pool = named(&map, &args.pool)?;
            show_one(&map, pool.id, output)
        }
        PoolCommand::Create(args) => {
            let (map, id) = block_on(create(&args))?;
            show_one(&map, id, output)
        }
        PoolCommand::Modify(args) => {
            let (map, id) = block_on(modify(&args))?;
            show_one(&map, id, output)
        }
        PoolCommand::Delete(args) => show(output, &views(&block_on(delete(&args))?), |pools| table(pools)),
    }
}

async fn create(args: &PoolCreateArgs) -> Result<(ClusterMap, PoolId), Failure> {
    let cluster = args.cluster.find()?;
    let before = cluster.map().await?;
    if let Some(pool) = before.pools.iter().find(|pool| pool.alias == args.alias) {
        return Err(Failure::failed(format!(
            "storage pool {} ({}) exists already; nyala pool modify moves targets into it",
            pool.id, pool.alias
        )));
    }
    known(&before, &args.targets)?;
    cluster.order_pools(PoolOrder::CreatePool { alias: args.alias.clone() }).await?;
    let pool = named(&cluster.map().await?, &args.alias)?.id;
    Ok((change(&cluster, pool, None, &args.targets).await?, pool))
}

async fn modify(args: &PoolModifyArgs) -> Result<(ClusterMap, PoolId), Failure> {
    let cluster = args.cluster.find()?;
    let before = cluster.map().await?;
    let pool = named(&before, &args.pool)?.id;
    known(&before, &args.targets)?;
    Ok((change(&cluster, pool, args.alias.clone(), &args.targets).await?, pool))
}

async fn delete(args: &PoolDeleteArgs) -> Result<ClusterMap, Failure> {
    let cluster = args.cluster.find()?;
    let pool = named(&cluster.map().await?, &args.pool)?;
    if !args.yes {
        return Err(Failure::usage(format!(
            "storage pool {} ({}) would go, and its id is never used again: in directories that name it no file could be made; if \
             that is what you want: nyala pool delete {} --yes",
            pool.id, pool.alias, pool.id
        )));
    }
    cluster.order_pools(PoolOrder::RemovePool { pool: pool.id }).await?;
    cluster.map().await
}

/// Another alias, and targets that move to the pool; the map afterwards.
async fn change(
    cluster: &Cluster,
    pool: PoolId,
    alias: Option<String>,
    targets: &[TargetId],
) -> Result<ClusterMap, Failure> {
    if let Some(alias) = alias {
        cluster.order_pools(PoolOrder::RenamePool { pool, alias }).await?;
    }
    for target in targets {
        cluster.order_pools(PoolOrder::SetPool { target: *target, pool }).await?;
    }
    cluster.map().await
}

fn show_one(map: &ClusterMap, id: PoolId, output: Output) -> Outcome {
    let pool = map.pools.iter().find(|pool| pool.id == id);
    let pool = pool.ok_or_else(|| Failure::failed(format!("storage pool {id} was deleted meanwhile")))?;
    show(output, &view(map, pool), text)
}
