// SPDX-License-Identifier: Apache-2.0

//! Written bytes on their way to the servers: buffers and the memory they may take, sending, flushing, syncing, moving inline
//! content to storage, deferred closes, and writes that are not buffered.

pub mod logic;

pub(crate) mod append;
pub(crate) mod buffer;
pub(crate) mod deferred_close;
pub(crate) mod deferred_close_batch;
pub(crate) mod direct;
pub(crate) mod flush;
pub(crate) mod flush_inline;
pub(crate) mod inline_migration;
pub(crate) mod leftovers;
pub(crate) mod memory_limit;
pub(crate) mod memory_pressure;
pub(crate) mod owner;
pub(crate) mod send;
pub(crate) mod send_thread;
pub(crate) mod stripe_in_flight;
pub(crate) mod stripe_write;
pub(crate) mod sync;
pub(crate) mod unsynced;
pub(crate) mod whole_stripes;
pub(crate) mod write;
