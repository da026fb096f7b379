// SPDX-License-Identifier: Apache-2.0

//! Files: what is known of each, the table of them, open handles, reading, size and holes, copying, and locks of applications.

pub mod handle;
pub mod logic;

pub(crate) mod copy;
pub(crate) mod empty;
pub(crate) mod encode;
pub(crate) mod encode_copy;
pub(crate) mod encode_later;
pub(crate) mod encoding;
pub(crate) mod leave_stripes;
pub(crate) mod locks;
pub(crate) mod move_copy;
pub(crate) mod move_data;
pub(crate) mod move_lock;
pub(crate) mod move_purpose;
pub(crate) mod open;
pub(crate) mod ops;
pub(crate) mod read;
pub(crate) mod read_cache;
pub(crate) mod read_encoded;
pub(crate) mod space;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod write;
