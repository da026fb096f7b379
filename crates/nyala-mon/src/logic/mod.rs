// SPDX-License-Identifier: Apache-2.0

//! What decides, without I/O and clocks: what a page becomes ([`pick`]), what is kept ([`history`]), what a query gets ([`query`]), what is
//! written to a database and when ([`outbox`]).

pub mod block;
pub mod busy;
pub mod fold;
pub mod history;
mod key_bytes;
mod keys;
pub mod line;
pub mod outbox;
pub mod pick;
pub mod query;
pub mod record;
mod segments;
pub mod series;
mod steps;
mod tier;
mod tiers;
pub mod varint;
