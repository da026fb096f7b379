// SPDX-License-Identifier: Apache-2.0

//! All tests on a real mount once more, with one ring in the session's own thread.

#[path = "fuse/caching.rs"]
mod caching;
#[path = "fuse/early_reply.rs"]
mod early_reply;
#[path = "fuse/harness/mod.rs"]
mod harness;
#[path = "fuse/killed.rs"]
mod killed;
#[path = "fuse/lifecycle.rs"]
mod lifecycle;
#[path = "fuse/memfs/mod.rs"]
mod memfs;
#[path = "fuse/operations.rs"]
mod operations;
#[path = "fuse/recorder/mod.rs"]
mod recorder;
#[path = "fuse/requests.rs"]
mod requests;
#[path = "fuse/rings.rs"]
mod rings;
