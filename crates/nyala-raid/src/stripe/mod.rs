// SPDX-License-Identifier: Apache-2.0

//! One stripe: what its rows say, and its blocks, read and decoded.
//!
//! Operations on one stripe must not overlap; who runs them sees to that.
//!
//! **Failure model.** A member may be missing (then nothing is asked of it), fail, answer late, return what was never written or what was
//! written long ago. A block counts only if it has the checksum of the newest row; what is decoded is compared too. So wrong bytes are never
//! returned, and what cannot be had within the redundancy is an error.

mod discard;
mod read;
mod repair;
mod resolve;
mod write;

use crate::code::StripCode;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::geometry::{BLOCK_BYTES, Geometry, StripeId};
use crate::key;
use crate::row::{Column, Row};
use crate::task::Port;
use nyala_wire::checksum::crc32c;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use discard::{discard, erase};
pub(crate) use read::read;
pub use repair::Repaired;
pub(crate) use repair::repair;
pub use resolve::Resolved;
pub(crate) use resolve::resolve;
pub(crate) use write::write;
pub use write::{WriteMode, Written};

/// What may be done with the member of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read and written.
    Good,
    /// Written; read only if it cannot be done without.
    Slow,
    /// It is missing, or its content of this stripe is out of date: neither.
    Stale,
}

/// What a member did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The member.
    pub member: usize,
    /// Where.
    pub stripe: StripeId,
    /// What.
    pub kind: DamageKind,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// A block is not what was written.
    Checksum,
    /// A read failed.
    Unreadable,
    /// The row is missing, damaged or out of date.
    Row,
    /// Parity is not what follows from data, though each block is what was written.
    Parity,
}

/// What was read, and what was found meanwhile.
#[derive(Clone, Debug, Default)]
pub struct ReadOutcome {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What was wrong; it was written anew.
    pub damage: Vec<Damage>,
    /// Members that were read around because they were late.
    pub late: Vec<usize>,
}

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
    without: usize,
    /// By column: its own row is as it should be.
    pub current: Vec<bool>,
    pub damage: Vec<Damage>,
    /// Members whose tables did not answer.
    pub silent: Vec<usize>,
    pub late: Vec<usize>,
    /// Columns, first blocks and right content of what was found damaged.
    pub heal: Vec<(usize, usize, Vec<u8>)>,
}

impl Stripe {
    pub fn new(port: Port, geometry: Arc<Geometry>, code: Arc<StripCode>, id: StripeId, uses: Vec<Use>) -> Stripe {
        let current = vec![false; uses.len()];
        let (row, damage, heal, silent, late) = Default::default();
        Stripe { port, geometry, code, id, uses, row, present: false, without: 0, current, damage, silent, late, heal }
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

    /// Reads the rows of all columns that are there.
    pub async fn load_rows(&mut self) {
        let columns = self.there();
        let replies = self.each(&columns, |_, member| Effect::Get { member, key: key::row(self.id) }).await;
        let mut own = vec![None; self.uses.len()];
        for (column, reply) in columns.iter().zip(replies) {
            match reply {
                Reply::Value(None) => self.without += 1,
                Reply::Value(Some(bytes)) => match Row::decode(&bytes, self.geometry.blocks()) {
                    Some(row) => {
                        self.present = true;
                        self.row.merge(&row);
                        own[*column] = Some(row);
                    }
                    None => self.found(*column, DamageKind::Row),
                },
                _ => {
                    self.silent.push(self.member(*column));
                    self.found(*column, DamageKind::Unreadable);
                }
            }
        }
        for column in columns {
            let right = self.row_of(column);
            self.current[column] = self.present && own[column].as_ref() == Some(&right);
            if self.present && !self.current[column] && !self.silent.contains(&self.member(column)) {
                self.found(column, DamageKind::Row);
            }
        }
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

    /// Whether any row says what a column has.
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

    fn sum(&self, column: usize, block: usize) -> Option<u32> {
        self.row.columns.get(&column).and_then(|known| known.sums.get(block).copied().flatten())
    }

    /// Whether some block of a column was ever written.
    pub fn any_present(&self, column: usize, blocks: &Range<usize>) -> bool {
        blocks.clone().any(|block| self.sum(column, block).is_some())
    }

    /// Whether a column's content can be believed in if its checksums are right. Parity must also be of the newest data.
    fn is_usable(&self, column: usize) -> bool {
        self.uses[column] != Use::Stale && (!self.is_parity(column) || self.current[column])
    }

    /// Sets what has been written to some blocks of a column.
    pub fn set_sums(&mut self, column: usize, version: u64, block: usize, bytes: &[u8]) {
        let blocks = self.geometry.blocks();
        let known = self.row.columns.entry(column).or_insert_with(Column::default);
        known.sums.resize(blocks, None);
        known.version = version;
        for (at, content) in bytes.chunks(BLOCK_BYTES).enumerate() {
            known.sums[block + at] = Some(crc32c(content));
        }
    }

    /// Reads blocks of columns as they are, and says of each block whether it is right. Blocks that were never written are zeros, and right.
    pub async fn read_raw(&mut self, wants: &[(usize, Range<usize>)]) -> Vec<(Vec<u8>, Vec<bool>)> {
        let asked = |stripe: &Stripe, (column, blocks): &(usize, Range<usize>)| {
            stripe.uses[*column] != Use::Stale && stripe.any_present(*column, blocks)
        };
        let offset = self.geometry.offset(self.id);
        let effect = |(column, blocks): &(usize, Range<usize>)| Effect::Read {
            member: self.member(*column),
            object: self.id.object,
            offset: offset + (blocks.start * BLOCK_BYTES) as u64,
            len: blocks.len() * BLOCK_BYTES,
        };
        let effects = wants.iter().filter(|want| asked(self, want)).map(effect).collect();
        let mut replies = self.port.run(effects).await.into_iter();
        let mut out = Vec::with_capacity(wants.len());
        for (column, blocks) in wants {
            let len = blocks.len() * BLOCK_BYTES;
            let content = if asked(self, &(*column, blocks.clone())) { replies.next() } else { None };
            let (mut bytes, read) = match content {
                Some(Reply::Bytes(bytes)) if bytes.len() == len => (bytes, true),
                Some(Reply::Late) => {
                    self.late.push(self.member(*column));
                    (vec![0; len], false)
                }
                Some(_) => {
                    self.found(*column, DamageKind::Unreadable);
                    (vec![0; len], false)
                }
                None => (vec![0; len], false),
            };
            let mut right = vec![false; blocks.len()];
            for (at, block) in blocks.clone().enumerate() {
                let piece = &mut bytes[at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES];
                right[at] = match self.sum(*column, block) {
                    None => {
                        piece.fill(0);
                        self.knows(*column)
                    }
                    Some(sum) => read && crc32c(piece) == sum,
                };
            }
            if read && right.contains(&false) {
                self.found(*column, DamageKind::Checksum);
            }
            out.push((bytes, right));
        }
        out
    }

    /// Reads blocks of columns, and decodes what cannot be read.
    pub async fn fetch(&mut self, wants: &[(usize, Range<usize>)]) -> Result<Vec<Vec<u8>>, StripeError> {
        let avoided = |stripe: &Stripe, column: usize| {
            stripe.uses[column] == Use::Slow && stripe.geometry.parity() > 0 || !stripe.is_usable(column)
        };
        let at_once: Vec<_> = wants.iter().filter(|(column, _)| !avoided(self, *column)).cloned().collect();
        let mut read = self.read_raw(&at_once).await.into_iter();
        let mut out = Vec::with_capacity(wants.len());
        for (column, blocks) in wants {
            let (bytes, right) = match avoided(self, *column) {
                false => read.next().unwrap_or_default(),
                true => {
                    let never = |block| self.knows(*column) && self.sum(*column, block).is_none();
                    (vec![0; blocks.len() * BLOCK_BYTES], blocks.clone().map(never).collect())
                }
            };
            out.push(self.complete(*column, blocks, bytes, &right).await?);
        }
        Ok(out)
    }

    /// Decodes the blocks that are not right.
    async fn complete(
        &mut self,
        column: usize,
        blocks: &Range<usize>,
        mut bytes: Vec<u8>,
        right: &[bool],
    ) -> Result<Vec<u8>, StripeError> {
        let wrong = |(at, right): (usize, &bool)| (!right).then_some(blocks.start + at);
        let bad: Vec<usize> = right.iter().enumerate().filter_map(wrong).collect();
        let (Some(first), Some(last)) = (bad.first(), bad.last()) else { return Ok(bytes) };
        let hull = *first..last + 1;
        let decoded = match self.decode(column, &hull).await? {
            Some(decoded) => decoded,
            None if self.uses[column] == Use::Slow && self.is_usable(column) => {
                match self.read_raw(&[(column, hull.clone())]).await.pop() {
                    Some((bytes, right)) if !right.contains(&false) => bytes,
                    _ => return self.lost(),
                }
            }
            None => return self.lost(),
        };
        let start = (hull.start - blocks.start) * BLOCK_BYTES;
        bytes[start..start + decoded.len()].copy_from_slice(&decoded);
        let late = self.late.contains(&self.member(column));
        if self.uses[column] == Use::Good && self.is_usable(column) && !late {
            self.heal.push((column, hull.start, decoded));
        }
        Ok(bytes)
    }

    /// Computes blocks of a column from others; `None` if they do not suffice.
    async fn decode(&mut self, column: usize, blocks: &Range<usize>) -> Result<Option<Vec<u8>>, StripeError> {
        let data = self.geometry.data();
        let mut sources: Vec<usize> =
            (0..self.uses.len()).filter(|other| *other != column && self.is_usable(*other)).collect();
        sources.sort_by_key(|other| (self.uses[*other] == Use::Slow, *other));
        let mut have = Vec::new();
        for some in [&sources[..data.min(sources.len())], &sources[data.min(sources.len())..]] {
            let wants: Vec<_> = some.iter().map(|other| (*other, blocks.clone())).collect();
            let read = self.read_raw(&wants).await;
            have.extend(some.iter().copied().zip(read));
            if let Some(decoded) = self.decode_from(column, blocks, &have) {
                return Ok(Some(decoded));
            }
        }
        Ok(None)
    }

    /// Computes blocks of a column from what was read of others, where that is right, and compares with the column's checksums.
    pub fn decode_from(
        &self,
        column: usize,
        blocks: &Range<usize>,
        have: &[(usize, (Vec<u8>, Vec<bool>))],
    ) -> Option<Vec<u8>> {
        if !self.knows(column) {
            return None;
        }
        let mut out = Vec::with_capacity(blocks.len() * BLOCK_BYTES);
        let mut at = 0;
        let sources =
            |at: usize| have.iter().filter(|(_, (_, right))| right[at]).map(|(c, _)| *c).collect::<Vec<usize>>();
        while at < blocks.len() {
            let from = sources(at);
            let end = (at + 1..blocks.len()).find(|next| sources(*next) != from).unwrap_or(blocks.len());
            let piece = at * BLOCK_BYTES..end * BLOCK_BYTES;
            let given: Vec<(usize, &[u8])> = have
                .iter()
                .filter(|(column, _)| from.contains(column))
                .map(|(column, (bytes, _))| (*column, &bytes[piece.clone()]))
                .collect();
            out.extend(self.code.recover(column, &given)?);
            at = end;
        }
        for (block, content) in blocks.clone().zip(out.chunks_mut(BLOCK_BYTES)) {
            match self.sum(column, block) {
                None => content.fill(0),
                Some(sum) if crc32c(content) != sum => return None,
                Some(_) => {}
            }
        }
        Some(out)
    }

    /// Writes anew what was found damaged and could be had otherwise, content and rows. That it may fail is for the next who reads it.
    pub async fn heal(&mut self) {
        let offset = self.geometry.offset(self.id);
        let mut effects = Vec::new();
        for (column, block, bytes) in std::mem::take(&mut self.heal) {
            let offset = offset + (block * BLOCK_BYTES) as u64;
            effects.push(Effect::Write { member: self.member(column), object: self.id.object, offset, bytes });
        }
        let damaged = |kind: DamageKind, member: usize| {
            self.damage.iter().any(|damage| damage.member == member && damage.kind == kind)
        };
        for column in self.there() {
            let member = self.member(column);
            // The content of parity that is out of date is wrong too: a repair makes both.
            if damaged(DamageKind::Row, member) && !self.is_parity(column) {
                effects.push(Effect::Apply { member, batch: self.row_batch(column), sync: false });
            }
        }
        self.port.run(effects).await;
    }

    /// A batch that sets the row of a column's member.
    pub fn row_batch(&self, column: usize) -> nyala_kv::Batch {
        let mut batch = nyala_kv::Batch::new();
        batch.put(key::row(self.id), self.row_of(column).encode());
        batch
    }
}
