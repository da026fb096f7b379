// SPDX-License-Identifier: Apache-2.0

//! The end of the logs: everything is made durable, then records go.

use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::key;
use crate::task::Port;
use nyala_kv::Batch;

/// Makes everything up to operation `number` durable on some members, and ends their logs: the records `numbers`. No operation up to that
/// number may be under way. A log must not end anywhere before all rows are on disk everywhere: which stripes to look at after a crash
/// is known from the logs alone.
pub(crate) async fn checkpoint(
    port: Port,
    members: Vec<usize>,
    numbers: Vec<u64>,
    number: u64,
) -> Result<(), StripeError> {
    let apply = |batch: Batch| {
        let apply = move |member: &usize| Effect::Apply { member: *member, batch: batch.clone(), sync: true };
        members.iter().map(apply).collect::<Vec<_>>()
    };
    let mut both: Vec<Effect> = members.iter().map(|member| Effect::SyncFiles { member: *member }).collect();
    both.extend(apply(Batch::new()));
    all(&port, both).await?;
    let mut end = Batch::new();
    end.put(key::APPLIED, number.to_le_bytes());
    numbers.iter().for_each(|number| _ = end.delete(key::intent(*number)));
    all(&port, apply(end)).await
}

pub(crate) async fn all(port: &Port, effects: Vec<Effect>) -> Result<(), StripeError> {
    let members: Vec<usize> = effects.iter().map(Effect::member).collect();
    let replies = port.run(effects).await;
    let bad = members.into_iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    fine(bad.map(|(member, _)| member).collect())
}

/// Nobody failed, or the error that says who did.
pub(crate) fn fine(mut members: Vec<usize>) -> Result<(), StripeError> {
    members.sort_unstable();
    members.dedup();
    if members.is_empty() { Ok(()) } else { Err(StripeError::Failed { members }) }
}
