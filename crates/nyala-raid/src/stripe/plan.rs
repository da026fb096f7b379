// SPDX-License-Identifier: Apache-2.0

//! What a write changes, and what parity follows.

use super::blocks::fetch;
use super::commit::NewBlocks;
use super::outcome::Use;
use super::state::Stripe;
use crate::error::StripeError;
use crate::ids::{BLOCK_BYTES, blocks_of};
use std::ops::Range;

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

    /// Puts the new bytes over the rows of the touched columns.
    fn overlay(&self, stripe: &Stripe, part: &Range<usize>, new: &[u8], columns: &mut [(usize, Vec<u8>)]) {
        let base = self.rows.start * BLOCK_BYTES;
        for (column, bytes) in &self.touched {
            let from = column * stripe.geometry.strip_bytes() + bytes.start - part.start;
            if let Some((_, content)) = columns.iter_mut().find(|(there, _)| there == column) {
                let range = bytes.start - base..bytes.end - base;
                content[range].copy_from_slice(&new[from..from + bytes.len()]);
            }
        }
    }

    /// The blocks to write: the touched ones of data columns, all rows of parity.
    fn blocks(&self, stripe: &Stripe, data: &[(usize, Vec<u8>)], parity: Vec<Vec<u8>>) -> Vec<NewBlocks> {
        let mut out = Vec::new();
        for (column, bytes) in &self.touched {
            let blocks = blocks_of(bytes);
            let (start, end) = (blocks.start - self.rows.start, blocks.end - self.rows.start);
            if let Some((_, content)) = data.iter().find(|(there, _)| there == column) {
                let bytes = content[start * BLOCK_BYTES..end * BLOCK_BYTES].to_vec();
                out.push(NewBlocks { column: *column, block: blocks.start, bytes });
            }
        }
        let first = stripe.geometry.data();
        let column = |(at, bytes)| NewBlocks { column: first + at, block: self.rows.start, bytes };
        out.extend(parity.into_iter().enumerate().map(column));
        out
    }

    fn zeros(&self) -> Vec<u8> {
        vec![0; self.rows.len() * BLOCK_BYTES]
    }

    pub fn fresh(&self, stripe: &Stripe, part: &Range<usize>, new: &[u8]) -> Vec<NewBlocks> {
        let mut data: Vec<_> = (0..stripe.geometry.data()).map(|column| (column, self.zeros())).collect();
        self.overlay(stripe, part, new, &mut data);
        let parity = encode(stripe, &data);
        self.blocks(stripe, &data, parity)
    }

    pub async fn change(
        &self,
        stripe: &mut Stripe,
        part: &Range<usize>,
        new: &[u8],
    ) -> Result<Vec<NewBlocks>, StripeError> {
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
            return self.by_delta(stripe, part, new, &touched).await;
        }
        let columns: Vec<usize> = if parity > 0 { (0..data).collect() } else { touched };
        let wants: Vec<_> = columns.iter().filter(|column| !self.covers(**column)).collect();
        let wants: Vec<_> = wants.into_iter().map(|column| (*column, self.rows.clone())).collect();
        let mut read = wants.iter().map(|(column, _)| *column).zip(fetch(stripe, &wants).await?).collect::<Vec<_>>();
        let mut content = Vec::with_capacity(columns.len());
        for column in columns {
            let at = read.iter().position(|(there, _)| *there == column);
            content.push(at.map_or_else(|| (column, self.zeros()), |at| read.swap_remove(at)));
        }
        self.overlay(stripe, part, new, &mut content);
        let parity = if parity > 0 { encode(stripe, &content) } else { Vec::new() };
        Ok(self.blocks(stripe, &content, parity))
    }

    /// Parity follows from what it was and what data was.
    async fn by_delta(
        &self,
        stripe: &mut Stripe,
        part: &Range<usize>,
        new: &[u8],
        touched: &[usize],
    ) -> Result<Vec<NewBlocks>, StripeError> {
        let parities = stripe.geometry.data()..stripe.uses.len();
        let wants: Vec<_> = touched.iter().copied().chain(parities).map(|column| (column, self.rows.clone())).collect();
        let mut old = fetch(stripe, &wants).await?;
        let mut parity = old.split_off(touched.len());
        let mut content: Vec<_> = touched.iter().copied().zip(old.iter().cloned()).collect();
        self.overlay(stripe, part, new, &mut content);
        for ((column, content), old) in content.iter().zip(old) {
            let delta: Vec<u8> = content.iter().zip(&old).map(|(new, old)| new ^ old).collect();
            stripe.code.update(*column, &delta, &mut parity);
        }
        Ok(self.blocks(stripe, &content, parity))
    }
}

fn encode(stripe: &Stripe, data: &[(usize, Vec<u8>)]) -> Vec<Vec<u8>> {
    let data: Vec<Vec<u8>> = data.iter().map(|(_, bytes)| bytes.clone()).collect();
    stripe.code.encode(&data, stripe.geometry.parity())
}
