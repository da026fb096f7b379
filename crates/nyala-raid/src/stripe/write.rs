// SPDX-License-Identifier: Apache-2.0

//! Writing.
//!
//! | The stripe | is written |
//! |---|---|
//! | was never written, or not since it was removed | in place, without a read or a log (an intent says so) |
//! | is still open: nothing of it was ever synced, and no member is missing | in place |
//! | is there | after its new blocks are on disk in the log of every member that takes part |
//!
//! Parity of a change follows from old data and old parity, or from all data, whichever reads less; of whole rows of blocks from the new data alone.

use super::blocks::heal;
use super::commit::{logged, unlogged};
use super::outcome::{WriteMode, Written};
use super::plan::Plan;
use super::rows::load_rows;
use super::state::Stripe;
use crate::error::StripeError;
use bytes::Bytes;
use std::ops::Range;

/// Writes a part of a stripe's data.
pub(crate) async fn write(
    mut stripe: Stripe,
    mode: WriteMode,
    part: Range<usize>,
    bytes: Bytes,
) -> Result<Written, StripeError> {
    assert_eq!(part.len(), bytes.len(), "as many bytes as the part has");
    if stripe.stale().len() > stripe.geometry.parity() {
        return stripe.lost();
    }
    load_rows(&mut stripe).await;
    stripe.all_answer()?;
    let fresh = stripe.is_absent()?;
    let outdated: Vec<usize> = stripe.there().into_iter().filter(|column| stripe.is_outdated(*column)).collect();
    if !outdated.is_empty() {
        return Err(StripeError::OutOfDate { stripe: stripe.id, members: stripe.members(&outdated) });
    }
    let plan = Plan::new(&stripe, &part);
    let blocks =
        if fresh { plan.fresh(&stripe, (&part, &bytes)) } else { plan.change(&mut stripe, (&part, &bytes)).await? };
    // Before anything changes: what is healed is what was there.
    heal(&mut stripe).await;
    let mut written = if fresh {
        unlogged(&mut stripe, mode, blocks, true).await?
    } else if mode.open && stripe.stale().is_empty() {
        unlogged(&mut stripe, mode, blocks, false).await?
    } else {
        logged(&mut stripe, mode, blocks).await?
    };
    written.damage = stripe.damage;
    Ok(written)
}
