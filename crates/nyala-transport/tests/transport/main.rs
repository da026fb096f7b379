// SPDX-License-Identifier: Apache-2.0

//! Connections between processes, over real sockets.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod calls;
mod common;
mod files;
mod followed;
mod handshake;
mod host_report;
mod hostile;
mod keys;
mod link_test;
mod links;
mod pool;
mod relay;
mod rotation;
mod settle;
mod slow;
