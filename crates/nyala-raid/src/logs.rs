// SPDX-License-Identifier: Apache-2.0

//! The logs of members, read.

use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::ids::StripeId;
use crate::intent::Intent;
use crate::key;
use crate::task::Port;
use std::collections::{BTreeMap, BTreeSet};

/// Records of a log that are read together.
const PAGE: usize = 32;

/// The logs of all members, by number of the operation.
pub(crate) type Logs = BTreeMap<u64, Vec<(usize, Intent)>>;

/// The logs of some members, and the number up to which operations are done for certain.
pub(crate) async fn load(port: &Port, members: &[usize]) -> Result<(Logs, u64), StripeError> {
    let (mut logs, mut applied) = (Logs::new(), 0);
    for member in members.iter().copied() {
        let failed = || StripeError::Failed { members: vec![member] };
        let get = Effect::Get { member, key: key::APPLIED.to_vec() };
        match port.run(vec![get]).await.pop() {
            Some(Reply::Value(None)) => {}
            Some(Reply::Value(Some(value))) => {
                let number = value.try_into().map_err(|_| StripeError::Intent { member })?;
                applied = applied.max(u64::from_le_bytes(number));
            }
            _ => return Err(failed()),
        }
        let mut from = b"I".to_vec();
        loop {
            let scan = Effect::Scan { member, from, to: key::behind(b"I"), limit: PAGE };
            let Some(Reply::Pairs(pairs)) = port.run(vec![scan]).await.pop() else { return Err(failed()) };
            for (key, value) in &pairs {
                let known = key::intent_number(key).zip(Intent::decode(value));
                let (number, intent) = known.ok_or(StripeError::Intent { member })?;
                logs.entry(number).or_default().push((member, intent));
            }
            match pairs.last() {
                Some((last, _)) if pairs.len() == PAGE => from = key::next(last),
                _ => break,
            }
        }
    }
    Ok((logs, applied))
}

/// Stripes that members still have of what their logs say was to be removed: they left in the middle of it, and nobody noted what they missed.
pub(crate) async fn half_discarded(port: &Port, logs: &Logs) -> Result<BTreeSet<StripeId>, StripeError> {
    let mut found = BTreeSet::new();
    for (member, intent) in logs.values().flatten() {
        let Intent::Discard { object, stripes } = intent else { continue };
        let row = |number| key::row(StripeId { object: *object, number });
        // The last stripe there can be is part of "all that follow".
        let (mut from, to) = (row(stripes.start), key::next(&row(stripes.end)));
        loop {
            let scan = Effect::Scan { member: *member, from, to: to.clone(), limit: PAGE };
            let Some(Reply::Pairs(pairs)) = port.run(vec![scan]).await.pop() else {
                return Err(StripeError::Failed { members: vec![*member] });
            };
            found.extend(pairs.iter().filter_map(|(key, _)| key::stripe_of(key, b"R")));
            match pairs.last() {
                Some((last, _)) if pairs.len() == PAGE => from = key::next(last),
                _ => break,
            }
        }
    }
    Ok(found)
}
