// SPDX-License-Identifier: Apache-2.0

//! Several management nodes, each a process of its own that can be killed and stopped as such, under load: services that
//! register, services that hold leases, watchers of the map, services that die.
//!
//! `NYALA_MGMT_KILLS=100` makes the test of leader kills as long as it likes.

#[path = "../mgmt/common/mod.rs"]
mod common;
mod kills;
mod lag;
mod load;
mod members;
mod nodes;
mod partition;
mod recover;
mod standby;

/// Not a test by itself: the process that gets killed.
#[test]
fn victim() {
    nodes::run_as_victim();
}
