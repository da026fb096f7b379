// SPDX-License-Identifier: Apache-2.0

//! Reading: what is asked for, from where it lies; around what is missing, slow or wrong.

use super::blocks::{fetch, heal};
use super::outcome::ReadOutcome;
use super::rows::load_rows;
use super::state::Stripe;
use crate::error::StripeError;
use crate::ids::{BLOCK_BYTES, blocks_of};
use std::ops::Range;

/// Reads a part of a stripe's data.
pub(crate) async fn read(mut stripe: Stripe, part: Range<usize>) -> Result<ReadOutcome, StripeError> {
    load_rows(&mut stripe).await;
    if stripe.is_absent()? {
        return Ok(ReadOutcome { bytes: vec![0; part.len()], damage: stripe.damage, late: stripe.late });
    }
    let within = |column| (column, stripe.geometry.within(&part, column));
    let touched: Vec<_> = (0..stripe.geometry.data()).map(within).filter(|(_, bytes)| !bytes.is_empty()).collect();
    let wants: Vec<_> = touched.iter().map(|(column, bytes)| (*column, blocks_of(bytes))).collect();
    stripe.patient = false;
    let fetched = match fetch(&mut stripe, &wants).await {
        // Those that are late are needed.
        Err(StripeError::Lost { .. }) if !stripe.late.is_empty() => {
            stripe.patient = true;
            stripe.heal.clear();
            fetch(&mut stripe, &wants).await?
        }
        other => other?,
    };
    let mut out = Vec::with_capacity(part.len());
    for (((_, bytes), (_, blocks)), content) in touched.iter().zip(&wants).zip(fetched) {
        let start = bytes.start - blocks.start * BLOCK_BYTES;
        out.extend_from_slice(&content[start..start + bytes.len()]);
    }
    heal(&mut stripe).await;
    Ok(ReadOutcome { bytes: out, damage: stripe.damage, late: stripe.late })
}
