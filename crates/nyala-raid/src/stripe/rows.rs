// SPDX-License-Identifier: Apache-2.0

//! The rows of a stripe, read and compared.

use super::outcome::DamageKind;
use super::state::Stripe;
use crate::effect::{Effect, Reply};
use crate::key;
use crate::row::Row;
use nyala_kv::Batch;

/// Reads the rows of all columns that are there.
pub async fn load_rows(stripe: &mut Stripe) {
    let columns = stripe.there();
    let replies = stripe.each(&columns, |_, member| Effect::Get { member, key: key::row(stripe.id) }).await;
    let mut own = vec![None; stripe.uses.len()];
    for (column, reply) in columns.iter().zip(replies) {
        match reply {
            Reply::Value(None) => stripe.without += 1,
            Reply::Value(Some(bytes)) => match Row::decode(&bytes, stripe.geometry.blocks()) {
                Some(row) => {
                    stripe.present = true;
                    stripe.row.merge(&row);
                    own[*column] = Some(row);
                }
                None => stripe.found(*column, DamageKind::Row),
            },
            _ => {
                stripe.silent.push(stripe.member(*column));
                stripe.found(*column, DamageKind::Unreadable);
            }
        }
    }
    for column in columns {
        let right = stripe.row_of(column);
        stripe.current[column] = stripe.present && own[column].as_ref() == Some(&right);
        if stripe.present && !stripe.current[column] && !stripe.silent.contains(&stripe.member(column)) {
            stripe.found(column, DamageKind::Row);
        }
    }
}

/// A batch that sets the row of a column's member.
pub fn row_batch(stripe: &Stripe, column: usize) -> Batch {
    let mut batch = Batch::new();
    batch.put(key::row(stripe.id), stripe.row_of(column).encode());
    batch
}
