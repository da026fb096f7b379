// SPDX-License-Identifier: Apache-2.0

//! One stripe: what its rows say, and its blocks, read and decoded.
//!
//! Operations on one stripe must not overlap; who runs them sees to that.
//!
//! **Failure model.** A member may be missing (then nothing is asked of it), fail, answer late, return what was never written or what was
//! written long ago. A block counts only if it has the checksum of the newest row; what is decoded is compared too. So wrong bytes are never
//! returned, and what cannot be had within the redundancy is an error.

mod blocks;
mod commit;
mod decode;
mod discard;
pub mod outcome;
mod plan;
mod raw;
mod read;
mod repair;
mod resolve;
mod rows;
mod state;
mod write;

pub(crate) use discard::{discard, erase, erase_behind};
pub(crate) use read::read;
pub(crate) use repair::repair;
pub(crate) use resolve::resolve;
pub(crate) use state::Stripe;
pub(crate) use write::write;
