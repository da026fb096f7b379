// SPDX-License-Identifier: Apache-2.0

//! What decides, without clock, network and chance.

pub(super) mod busy;
pub(super) mod cookies;
pub(super) mod figures;
pub(super) mod path;
pub(super) mod sessions;
