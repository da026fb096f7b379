// SPDX-License-Identifier: Apache-2.0

//! What follows from the logs of the members after a crash.
//!
//! 1. Removals are done again.
//! 2. Logged writes that all members have that should (of those that are there) are done again, in order; others were not begun and are dropped.
//! 3. Stripes that were written without a log are made whole ([`resolve`]).
//! 4. What members that are not there have missed of it is remembered, everything is made durable, and the logs are emptied.
//!
//! All of it can be interrupted anywhere and begun again: the logs go last.

use crate::checkpoint::{all, checkpoint, fine};
use crate::code::StripCode;
use crate::effect::Effect;
use crate::error::StripeError;
use crate::geometry::Geometry;
use crate::ids::{BLOCK_BYTES, StripeId};
use crate::intent::Intent;
use crate::key;
use crate::logs::{Logs, half_discarded, load};
use crate::recovered::Recovered;
use crate::stripe::outcome::Use;
use crate::stripe::{Stripe, erase, resolve};
use crate::task::Port;
use nyala_kv::Batch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) struct Recovery {
    pub port: Port,
    pub geometry: Arc<Geometry>,
    pub code: Arc<StripCode>,
    /// By member: good ones are read and believed in.
    pub uses: Vec<Use>,
    /// Members that are there and not up to date: their logs only say what they may have beyond the others.
    pub outdated: Vec<usize>,
}

impl Recovery {
    pub async fn run(self) -> Result<Recovered, StripeError> {
        let good: Vec<usize> = (0..self.uses.len()).filter(|member| self.uses[*member] != Use::Stale).collect();
        let (mut logs, applied) = load(&self.port, &good).await?;
        let (foreign, _) = load(&self.port, &self.outdated).await?;
        let last = |logs: &Logs| logs.keys().next_back().copied().unwrap_or(0);
        let mut done = Recovered { number: applied.max(last(&logs)).max(last(&foreign)), ..Recovered::default() };
        let numbers: Vec<u64> = logs.keys().chain(foreign.keys()).copied().collect();
        logs.retain(|number, _| *number > applied);
        let mut touched: BTreeSet<StripeId> =
            foreign.values().flatten().filter_map(|(_, intent)| stripe_of(intent)).collect();
        touched.extend(half_discarded(&self.port, &foreign).await?);
        self.discards(&logs, &mut done).await?;
        self.replay(&logs, &mut done, &mut touched).await?;
        let fresh = |(_, intent): &(usize, Intent)| match intent {
            Intent::Fresh { stripe } => Some(*stripe),
            _ => None,
        };
        let open: BTreeSet<StripeId> = logs.values().flatten().filter_map(fresh).collect();
        for stripe in open {
            done.number += 1;
            done.resolved += 1;
            touched.insert(stripe);
            let resolved = resolve(self.stripe(stripe), done.number).await?;
            done.torn_blocks += resolved.torn_blocks;
            fine(resolved.failed)?;
        }
        self.finish(&good, &touched, numbers, done.number).await?;
        Ok(done)
    }

    fn stripe(&self, id: StripeId) -> Stripe {
        let uses = (0..self.geometry.width()).map(|column| self.uses[self.geometry.member(id, column)]).collect();
        Stripe::new(self.port.clone(), self.geometry.clone(), self.code.clone(), id, uses)
    }

    async fn discards(&self, logs: &Logs, done: &mut Recovered) -> Result<(), StripeError> {
        for (number, records) in logs {
            let Some(Intent::Discard { object, stripes }) = records.first().map(|(_, intent)| intent) else { continue };
            done.discarded += 1;
            fine(erase(&self.port, &self.geometry, &self.uses, *number, *object, stripes.clone()).await)?;
        }
        Ok(())
    }

    async fn replay(
        &self,
        logs: &Logs,
        done: &mut Recovered,
        touched: &mut BTreeSet<StripeId>,
    ) -> Result<(), StripeError> {
        for (number, records) in logs {
            let Some((_, Intent::Logged { stripe, members, .. })) = records.first() else { continue };
            let logged = |member: &usize| records.iter().any(|(there, _)| there == member);
            let complete = members.iter().all(|member| self.uses.get(*member) == Some(&Use::Stale) || logged(member));
            let mut later = logs.range(number + 1..).flat_map(|(_, records)| records);
            if later.any(|(_, intent)| intent.resets(*stripe)) {
                continue;
            }
            if !complete {
                done.dropped += 1;
                continue;
            }
            done.replayed += 1;
            touched.insert(*stripe);
            let mut effects = Vec::new();
            for (member, intent) in records {
                let Intent::Logged { stripe, block, bytes, row, .. } = intent else { continue };
                let offset = self.geometry.offset(*stripe) + (block * BLOCK_BYTES) as u64;
                let (object, bytes) = (stripe.object, bytes.clone());
                let mut then = Batch::new();
                then.put(key::row(*stripe), row);
                effects.push(Effect::Write { member: *member, object, offset, bytes, then });
            }
            all(&self.port, effects).await?;
        }
        Ok(())
    }

    /// Dirty records, syncs, and the end of the logs.
    async fn finish(
        &self,
        good: &[usize],
        touched: &BTreeSet<StripeId>,
        numbers: Vec<u64>,
        number: u64,
    ) -> Result<(), StripeError> {
        let mut batches: BTreeMap<usize, Batch> = BTreeMap::new();
        for stripe in touched {
            let members = self.geometry.members(self.geometry.group(*stripe));
            let (stale, there): (Vec<_>, Vec<_>) = members.partition(|member| self.uses[*member] == Use::Stale);
            for member in there {
                let batch = batches.entry(member).or_default();
                stale.iter().for_each(|stale| _ = batch.put(key::dirty(*stale, *stripe), []));
            }
        }
        let dirty = batches.into_iter().filter(|(_, batch)| !batch.is_empty());
        all(&self.port, dirty.map(|(member, batch)| Effect::Apply { member, batch, sync: true }).collect()).await?;
        let everybody = good.iter().chain(&self.outdated).copied().collect();
        checkpoint(self.port.clone(), everybody, numbers, number).await
    }
}

fn stripe_of(intent: &Intent) -> Option<StripeId> {
    match intent {
        Intent::Fresh { stripe } | Intent::Logged { stripe, .. } => Some(*stripe),
        Intent::Discard { .. } => None,
    }
}
