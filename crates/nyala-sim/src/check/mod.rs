// SPDX-License-Identifier: Apache-2.0

//! What must hold, one file for each.

pub mod acknowledged;
pub mod equal;
pub mod fences;
pub mod fresh;
pub mod monotone;
pub mod primary;
pub mod quiet;
