// SPDX-License-Identifier: Apache-2.0

//! Names: looking them up, listing directories, making, moving and removing entries, and extended attributes.

pub(crate) mod lookup;
pub(crate) mod mutate;
pub(crate) mod owner;
pub(crate) mod server_lookup;
