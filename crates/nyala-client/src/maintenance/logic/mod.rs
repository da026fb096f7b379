// SPDX-License-Identifier: Apache-2.0

//! What maintenance decides. Pure.

pub(crate) mod evacuation;
