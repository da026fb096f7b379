// SPDX-License-Identifier: Apache-2.0

//! What runs without a call of a program, or for administrators: the client's own thread, its orderly end, and repair
//! of stored data.

mod evacuation;
mod logic;
pub(crate) mod repair;
pub(crate) mod shutdown;
pub(crate) mod thread;
