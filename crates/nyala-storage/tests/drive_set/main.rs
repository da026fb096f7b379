// SPDX-License-Identifier: Apache-2.0

//! Targets on drive sets: the chunk store on simulated drives that lose power, and a service on directories.

#[path = "../common/bulk.rs"]
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod crash;
#[path = "../../../nyala-drives/tests/sets/common.rs"]
mod drives;
mod far;
mod service;
mod spares;
