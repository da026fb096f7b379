// SPDX-License-Identifier: Apache-2.0

//! A storage service with targets in a directory, asked as clients, servers and management ask it.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

#[path = "../common/bulk.rs"]
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod kv_damage;
mod memory;
mod orders;
mod service;
mod sessions;
mod slow;
mod targets;
