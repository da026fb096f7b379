// SPDX-License-Identifier: Apache-2.0

//! All tests on a real mount, over the device's descriptor.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod caching;
mod early_reply;
mod harness;
mod killed;
mod lifecycle;
mod memfs;
mod operations;
mod recorder;
mod requests;
mod rings;
