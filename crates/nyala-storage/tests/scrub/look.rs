// SPDX-License-Identifier: Apache-2.0

//! What tests of scrubs look at.

use crate::common::{Cluster, Storage};
use nyala_storage::ScrubConfig;
use nyala_storage::chunk_store::path_of;
use nyala_transport::{Request, Role};
use nyala_wire::scrub::{ScrubRequest, ScrubState};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{TargetId, codec, message_type};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

/// Scrubs one after the other.
pub const OFTEN: ScrubConfig = ScrubConfig { interval: Duration::from_millis(400), rate: 0 };

/// How the scrub of a target is, as an operator hears it.
pub async fn status(cluster: &Cluster, storage: &Storage, target: TargetId) -> ScrubState {
    let to = cluster.connect_as(storage, Role::Cli).await;
    let body = codec::encode(&ScrubRequest { target });
    let frame = to.call(Request::new(message_type::STORAGE_SCRUB, body)).await.unwrap();
    assert!(!frame.is_error(), "{:?}", codec::decode::<nyala_wire::WireError>(&frame.body));
    codec::decode(&frame.body).unwrap()
}

/// A chunk file of the service with that name.
pub fn chunk_file(cluster: &Cluster, service: &str, file: ChunkFileId) -> PathBuf {
    cluster.dir.path().join(service).join("target/chunks").join(path_of(file))
}

/// Flips a bit of a byte on the disk.
pub fn flip(path: &PathBuf, offset: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
    file.sync_all().unwrap();
}

/// Asks until it is so.
pub async fn until_so(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1500 {
        if holds().await {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not in time: {what}");
}
