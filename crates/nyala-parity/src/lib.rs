// SPDX-License-Identifier: Apache-2.0

//! Pure: parity over strips of bytes. `k` data strips get `m` parity strips, all of one length; from any `k` of the `k + m` the
//! others are computed again.
//!
//! | Code | Parity strips | As |
//! |---|---|---|
//! | [`Code::xor`] | 1 | RAID 5 |
//! | [`Code::p_q`] | 2 | RAID 6 (P and Q as Linux md and ISA-L have them) |
//! | [`Code::three`] | 3 | RAID 7.3 |
//! | [`Code::reed_solomon`] | any | N+M, erasure coding over servers |
//!
//! Arithmetic is that of the field of 256 elements with the polynomial x^8+x^4+x^3+x^2+1 ([`gf`]), as in Linux md and ISA-L: strips are
//! compatible with theirs. Parity is a matrix times the data ([`Code::coefficient`]): [`Code::encode`] makes it anew, [`Code::update`] changes
//! it by what changed in one data strip, [`verify`](fn@verify) compares, [`Recovery::plan`] says how lost strips follow from others.
//! Vector instructions are chosen at run time ([`Isa`]); the scalar path is what all others are tested against.
//!
//! **Failure model.** Nothing here fails but a caller's mistake: a code that cannot be, strips of different lengths, more losses than parity. The
//! first and the last are [`ParityError`]; lengths and numbers of strips are asserted, since wrong parity would only be noticed
//! when it is needed. A strip with wrong content is not found by this crate unless [`verify`](fn@verify) is called, and then not
//! which one is wrong: that is what checksums are for.

mod code;
mod error;
pub mod gf;
mod kernel;
mod matrix;
mod recovery;
mod verify;

pub use code::{Code, MAX_STRIPS};
pub use error::ParityError;
pub use kernel::Isa;
pub use recovery::Recovery;
pub use verify::{Mismatch, verify};
