// SPDX-License-Identifier: Apache-2.0

//! Short writes that came in one message, done together on the thread that received them. [`super::inline_path`] has the failure model.

use super::inline_path::{InlinePath, by_worker};
use super::target::Target;
use crate::chunk_store::{WriteOp, Written};
use nyala_wire::WireError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Short writes that came together.
pub(super) async fn write_all(
    inline: &InlinePath,
    target: &Arc<Target>,
    ops: Vec<WriteOp>,
) -> Vec<Result<(), WireError>> {
    let mut results: Vec<Option<Result<(), WireError>>> = ops.iter().map(|_| None).collect();
    let (mut shards, mut late) = (BTreeMap::<usize, Vec<(usize, WriteOp)>>::new(), tokio::task::JoinSet::new());
    for (at, op) in ops.into_iter().enumerate() {
        shards.entry(target.shard_number(op.file)).or_default().push((at, op));
    }
    for ops in shards.into_values() {
        let (places, ops): (Vec<_>, Vec<_>) = ops.into_iter().unzip();
        let file = ops.first().map(|op: &WriteOp| op.file).unwrap_or_default();
        let written = match inline.stalls.has(target) {
            true => ops.into_iter().map(Written::NotYet).collect(),
            false => inline.write_now(target, file, ops),
        };
        for (at, written) in places.into_iter().zip(written) {
            match written {
                Written::Done(result) => results[at] = Some(result.map_err(WireError::from)),
                Written::NotYet(op) => {
                    let target = target.clone();
                    late.spawn_local(async move { (at, by_worker(&target, op).await) });
                }
            }
        }
    }
    while let Some(ended) = late.join_next().await {
        match ended {
            Ok((at, result)) => results[at] = Some(result),
            Err(error) => tracing::error!(%error, "a write has panicked"),
        }
    }
    results.into_iter().map(|result| result.unwrap_or_else(|| Err(super::queue::mistake()))).collect()
}
