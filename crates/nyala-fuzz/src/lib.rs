// SPDX-License-Identifier: Apache-2.0

//! Every decoder of bytes from a disk, a network, the kernel or a person, as a function for fuzzing.
//!
//! A target takes any bytes and says whether they were accepted. It panics if what was decoded does not survive the round
//! trip, or is not within its bounds. Where a checksum stands before a decoder, the bytes are tried as they are, and once more with a
//! checksum that fits, so that mutations get past it. Targets of private decoders are in their crates
//! (`fuzzing` there); [`TARGETS`] has all of them.
//!
//! - `tests/corpus.rs` runs each on its corpus (`fuzz/corpus/TARGET`) and on some mutations ([`Mutator`]) in every `cargo test`.
//! - `make fuzz` runs them under libFuzzer (`fuzz/fuzz_targets`), and keeps in the corpus what covers more.

pub mod drives;
pub mod host;
mod mutate;
pub mod namespace;
mod operators;
pub mod pure;
pub mod text;
pub mod wire;

pub use mutate::Mutator;
pub use nyala_client::fuzzing as client;
pub use nyala_drives::fuzzing as drive_files;
pub use nyala_fuse::fuzzing as fuse;
pub use nyala_mgmt::fuzzing as mgmt;
pub use nyala_netdrives::fuzzing as netdrives;
pub use nyala_storage::chunk_store::fuzzing as chunk_store;
pub use nyala_storage::service::fuzzing as mirror;
pub use nyala_store::fuzzing as store;
pub use nyala_transport::fuzzing as transport;

/// Something to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of its file in `fuzz/fuzz_targets`, and of its corpus.
    pub name: &'static str,
    /// Whether the bytes were accepted. Panics on a wrong result.
    pub run: fn(&[u8]) -> bool,
}

const fn target(name: &'static str, run: fn(&[u8]) -> bool) -> Target {
    Target { name, run }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("wire_frame", wire::frame),
    target("wire_meta", wire::meta),
    target("wire_meta_tx", wire::meta_tx),
    target("wire_storage", wire::storage),
    target("wire_mgmt", wire::mgmt),
    target("wire_map", wire::map),
    target("wire_layouts", wire::layouts),
    target("wire_ids", wire::ids),
    target("transport_preamble", transport::preamble),
    target("transport_hello", transport::hello),
    target("transport_key_file", transport::key_file),
    target("fuse_request", fuse::request),
    target("fuse_init", fuse::init),
    target("fuse_proc", fuse::proc_files),
    target("client_read_reply", client::read_reply),
    target("kv_batch", pure::batch),
    target("store_log_record", store::log_record),
    target("store_log_segment", store::log_segment),
    target("store_tree_page", store::tree_page),
    target("store_tree_root", store::tree_root),
    target("store_free_pages", store::free_pages),
    target("store_identity", store::identity),
    target("storage_rows", chunk_store::rows),
    target("storage_region", chunk_store::region),
    target("storage_mirror_request", mirror::mirror_request),
    target("storage_member_message", mirror::member_message),
    target("storage_member_bundle", mirror::member_bundle),
    target("replica_rows", pure::replica_rows),
    target("replica_message", pure::replica_message),
    target("namespace_records", namespace::records),
    target("namespace_keys", namespace::keys),
    target("namespace_acl", namespace::access_list),
    target("cluster_state", pure::cluster_state),
    target("cluster_command", pure::cluster_command),
    target("mgmt_raft_record", mgmt::raft_record),
    target("mgmt_raft_message", mgmt::raft_message),
    target("mgmt_rest", mgmt::rest_body),
    target("raid_superblock", drives::superblock),
    target("raid_rows", drives::rows),
    target("drives_listing", drive_files::listing),
    target("drives_claim", drive_files::claim),
    target("netdrives_message", netdrives::message),
    target("netdrives_hold", netdrives::hold),
    target("storage_scrub", drives::scrub),
    target("metrics_page", text::metrics_page),
    target("web_action", text::web_action),
    target("tune_fstab", host::fstab),
    target("tune_judge", host::judged),
    target("tune_saved", host::saved),
];
