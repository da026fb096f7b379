// SPDX-License-Identifier: Apache-2.0

//! A stripe under one operation, and what its rows say.

use super::outcome::{Damage, DamageKind, Use};
use crate::code::StripCode;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::geometry::Geometry;
use crate::ids::{BLOCK_BYTES, StripeId};
use crate::row::Row;
use crate::task::Port;
use nyala_wire::checksum::crc32c;
use std::ops::Range;
use std::sync::Arc;

/// A stripe under one operation.
pub(crate) struct Stripe {
    pub port: Port,
    pub geometry: Arc<Geometry>,
    pub code: Arc<StripCode>,
    pub id: StripeId,
    /// By column.
    pub uses: Vec<Use>,
    /// The newest of all columns.
    pub row: Row,
    /// Any row was there.
    pub present: bool,
    /// So many members say that they have no row.
    pub without: usize,
    /// By column: its own row is as it should be.
    pub current: Vec<bool>,
    pub damage: Vec<Damage>,
    /// Members whose tables did not answer.
    pub silent: Vec<usize>,
    pub late: Vec<usize>,
    pub patient: bool, // what is slow is waited for: there may be no way around it
    /// Columns, first blocks and right content of what was found damaged.
    pub heal: Vec<(usize, usize, Vec<u8>)>,
}

impl Stripe {
    pub fn new(port: Port, geometry: Arc<Geometry>, code: Arc<StripCode>, id: StripeId, uses: Vec<Use>) -> Stripe {
        let current = vec![false; uses.len()];
        let (row, damage, heal, silent, late) = Default::default();
        let (present, without, patient) = (false, 0, true);
        Stripe { port, geometry, code, id, uses, row, present, without, current, damage, silent, late, patient, heal }
    }

    pub fn member(&self, column: usize) -> usize {
        self.geometry.member(self.id, column)
    }

    pub fn members(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().map(|column| self.member(*column)).collect()
    }

    pub fn is_parity(&self, column: usize) -> bool {
        column >= self.geometry.data()
    }

    /// Columns whose member takes part.
    pub fn there(&self) -> Vec<usize> {
        (0..self.uses.len()).filter(|column| self.uses[*column] != Use::Stale).collect()
    }

    /// Columns whose member does not.
    pub fn stale(&self) -> Vec<usize> {
        (0..self.uses.len()).filter(|column| self.uses[*column] == Use::Stale).collect()
    }

    pub fn lost<T>(&self) -> Result<T, StripeError> {
        Err(StripeError::Lost { stripe: self.id })
    }

    pub fn found(&mut self, column: usize, kind: DamageKind) {
        let damage = Damage { member: self.member(column), stripe: self.id, kind };
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
    }

    /// Runs an effect for each of some columns.
    pub async fn each(&self, columns: &[usize], effect: impl Fn(usize, usize) -> Effect) -> Vec<Reply> {
        self.port.run(columns.iter().map(|column| effect(*column, self.member(*column))).collect()).await
    }

    /// Nothing may change while a member that takes part does not answer: it has to leave first.
    pub fn all_answer(&self) -> Result<(), StripeError> {
        if self.silent.is_empty() { Ok(()) } else { Err(StripeError::Failed { members: self.silent.clone() }) }
    }

    /// Whether the stripe was never written, or an error if too few members say so.
    pub fn is_absent(&self) -> Result<bool, StripeError> {
        if self.present || self.without >= self.geometry.data() {
            return Ok(!self.present);
        }
        self.lost()
    }

    /// Whether a member has parity that is not of the newest data.
    pub fn is_outdated(&self, column: usize) -> bool {
        self.present && self.is_parity(column) && !self.current[column] && self.uses[column] != Use::Stale
    }

    /// Whether a column's content is what its checksums say.
    pub fn agrees(&self, column: usize, content: &[u8]) -> bool {
        let right = |(block, piece): (usize, &[u8])| self.sum(column, block).is_none_or(|sum| sum == crc32c(piece));
        self.knows(column) && content.chunks(BLOCK_BYTES).enumerate().all(right)
    }

    pub fn knows(&self, column: usize) -> bool {
        self.row.columns.contains_key(&column)
    }

    /// The row that a column's member should have.
    pub fn row_of(&self, column: usize) -> Row {
        if self.is_parity(column) {
            return self.row.clone();
        }
        let own = self.row.columns.get(&column).cloned();
        Row { columns: own.map(|own| (column, own)).into_iter().collect() }
    }

    /// The checksum of a block, if it was ever written.
    pub fn sum(&self, column: usize, block: usize) -> Option<u32> {
        self.row.columns.get(&column).and_then(|known| known.sums.get(block).copied().flatten())
    }

    /// Whether some block of a column was ever written.
    pub fn any_present(&self, column: usize, blocks: &Range<usize>) -> bool {
        blocks.clone().any(|block| self.sum(column, block).is_some())
    }

    /// Whether a column's content can be believed in if its checksums are right. Parity must also be of the newest data.
    pub fn is_usable(&self, column: usize) -> bool {
        self.uses[column] != Use::Stale && (!self.is_parity(column) || self.current[column])
    }

    /// Sets what has been written to some blocks of a column.
    pub fn set_sums(&mut self, column: usize, version: u64, block: usize, bytes: &[u8]) {
        let blocks = self.geometry.blocks();
        let known = self.row.columns.entry(column).or_default();
        known.sums.resize(blocks, None);
        known.version = version;
        for (at, content) in bytes.chunks(BLOCK_BYTES).enumerate() {
            known.sums[block + at] = Some(crc32c(content));
        }
    }
}
