// SPDX-License-Identifier: Apache-2.0

//! Names: looking them up, listing directories, making, moving and removing entries, and extended attributes.

mod all_names;
pub(crate) mod directories;
mod forgetting;
pub(crate) mod fragments;
mod listing;
pub(crate) mod logic;
pub(crate) mod lookup;
pub(crate) mod mutate;
pub(crate) mod owner;
pub(crate) mod parents;
pub(crate) mod path;
pub(crate) mod server_lookup;
mod whole_attrs;
