// SPDX-License-Identifier: Apache-2.0

//! What a write changes, and what parity follows.

use super::blocks::fetch;
use super::commit::NewBlocks;
use super::outcome::Use;
use super::state::Stripe;
use crate::error::StripeError;
use crate::ids::{BLOCK_BYTES, blocks_of};
use bytes::Bytes;
use std::ops::Range;

/// A part of a stripe's data, and its new bytes.
pub(super) type New<'a> = (&'a Range<usize>, &'a Bytes);

/// What a write touches.
pub(super) struct Plan {
    /// Data columns, and their bytes that change.
    touched: Vec<(usize, Range<usize>)>,
    /// The blocks of every strip in which something changes.
    rows: Range<usize>,
}

impl Plan {
    pub fn new(stripe: &Stripe, part: &Range<usize>) -> Plan {
        let within = |column| (column, stripe.geometry.within(part, column));
        let touched: Vec<_> = (0..stripe.geometry.data()).map(within).filter(|(_, bytes)| !bytes.is_empty()).collect();
        let blocks = || touched.iter().map(|(_, bytes)| blocks_of(bytes));
        let start = blocks().map(|blocks| blocks.start).min().unwrap_or(0);
        let end = blocks().map(|blocks| blocks.end).max().unwrap_or(0);
        Plan { touched, rows: start..end }
    }

    fn covers(&self, column: usize) -> bool {
        let rows = self.rows.start * BLOCK_BYTES..self.rows.end * BLOCK_BYTES;
        self.touched.iter().any(|(touched, bytes)| *touched == column && *bytes == rows)
    }

    /// The rows of a data column with its new bytes over what was there, which is not asked for where all of it is new.
    fn over(&self, stripe: &Stripe, column: usize, (part, new): New<'_>, old: impl FnOnce() -> Vec<u8>) -> Bytes {
        let Some((_, bytes)) = self.touched.iter().find(|(touched, _)| *touched == column) else { return old().into() };
        let from = column * stripe.geometry.strip_bytes() + bytes.start - part.start;
        let piece = new.slice(from..from + bytes.len());
        if self.covers(column) {
            return piece;
        }
        let (mut content, base) = (old(), self.rows.start * BLOCK_BYTES);
        content[bytes.start - base..bytes.end - base].copy_from_slice(&piece);
        content.into()
    }

    /// The blocks to write: the touched ones of data columns, all rows of parity.
    fn blocks(&self, data: &[(usize, Bytes)], first: usize, parity: Vec<Vec<u8>>) -> Vec<NewBlocks> {
        let mut out = Vec::new();
        for (column, bytes) in &self.touched {
            let blocks = blocks_of(bytes);
            let (start, end) = (blocks.start - self.rows.start, blocks.end - self.rows.start);
            if let Some((_, content)) = data.iter().find(|(there, _)| there == column) {
                let bytes = content.slice(start * BLOCK_BYTES..end * BLOCK_BYTES);
                out.push(NewBlocks { column: *column, block: blocks.start, bytes });
            }
        }
        let column = |(at, bytes): (usize, Vec<u8>)| NewBlocks {
            column: first + at,
            block: self.rows.start,
            bytes: bytes.into(),
        };
        out.extend(parity.into_iter().enumerate().map(column));
        out
    }

    fn zeros(&self) -> Vec<u8> {
        vec![0; self.rows.len() * BLOCK_BYTES]
    }

    pub fn fresh(&self, stripe: &Stripe, new: New<'_>) -> Vec<NewBlocks> {
        let whole = |column| (column, self.over(stripe, column, new, || self.zeros()));
        let data: Vec<_> = (0..stripe.geometry.data()).map(whole).collect();
        self.blocks(&data, data.len(), encode(stripe, &data))
    }

    pub async fn change(&self, stripe: &mut Stripe, new: New<'_>) -> Result<Vec<NewBlocks>, StripeError> {
        let (data, parity) = (stripe.geometry.data(), stripe.geometry.parity());
        let known = |column: usize| stripe.knows(column);
        // Of parity that is missing everywhere nobody knows anything, and need not.
        let needed = |column: &usize| match parity {
            0 => self.touched.iter().any(|(touched, _)| touched == column),
            _ => *column < data || stripe.uses[*column] != Use::Stale,
        };
        if !(0..data + parity).filter(needed).all(known) {
            return stripe.lost();
        }
        let touched: Vec<usize> = self.touched.iter().map(|(column, _)| *column).collect();
        let others = (0..data).filter(|column| !self.covers(*column)).count();
        // Of parity that nobody reads, the new checksums would not be known.
        let mut changing = touched.iter().copied().chain(data..data + parity);
        let good = changing.all(|column| stripe.uses[column] != Use::Stale);
        if parity > 0 && good && touched.len() + parity < others {
            return self.by_delta(stripe, new, &touched).await;
        }
        let columns: Vec<usize> = if parity > 0 { (0..data).collect() } else { touched };
        let wants: Vec<_> = columns.iter().filter(|column| !self.covers(**column)).collect();
        let wants: Vec<_> = wants.into_iter().map(|column| (*column, self.rows.clone())).collect();
        let mut read = wants.iter().map(|(column, _)| *column).zip(fetch(stripe, &wants).await?).collect::<Vec<_>>();
        let mut content = Vec::with_capacity(columns.len());
        for column in columns {
            let at = read.iter().position(|(there, _)| *there == column);
            let old = at.map(|at| read.swap_remove(at).1);
            content.push((column, self.over(stripe, column, new, || old.unwrap_or_else(|| self.zeros()))));
        }
        let parity = if parity > 0 { encode(stripe, &content) } else { Vec::new() };
        Ok(self.blocks(&content, data, parity))
    }

    /// Parity follows from what it was and what data was.
    async fn by_delta(
        &self,
        stripe: &mut Stripe,
        new: New<'_>,
        touched: &[usize],
    ) -> Result<Vec<NewBlocks>, StripeError> {
        let parities = stripe.geometry.data()..stripe.uses.len();
        let wants: Vec<_> = touched.iter().copied().chain(parities).map(|column| (column, self.rows.clone())).collect();
        let mut old = fetch(stripe, &wants).await?;
        let mut parity = old.split_off(touched.len());
        let mut content = Vec::with_capacity(touched.len());
        for (column, old) in touched.iter().copied().zip(old) {
            let changed = self.over(stripe, column, new, || old.clone());
            let delta: Vec<u8> = changed.iter().zip(&old).map(|(new, old)| new ^ old).collect();
            stripe.code.update(column, &delta, &mut parity);
            content.push((column, changed));
        }
        Ok(self.blocks(&content, stripe.geometry.data(), parity))
    }
}

fn encode(stripe: &Stripe, data: &[(usize, Bytes)]) -> Vec<Vec<u8>> {
    let data: Vec<&[u8]> = data.iter().map(|(_, bytes)| &bytes[..]).collect();
    stripe.code.encode(&data, stripe.geometry.parity())
}
