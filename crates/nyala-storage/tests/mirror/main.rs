// SPDX-License-Identifier: Apache-2.0

//! Mirror groups of whole services.

#[path = "../common/mod.rs"]
mod common;
mod fences;
mod full;
mod group;
#[path = "../scrub/look.rs"]
mod look;
#[path = "../scrub/meta.rs"]
mod meta;
mod no_space;
mod passed_on;
mod removed;
mod scrub;
