// SPDX-License-Identifier: Apache-2.0

//! Damage of one copy of two, which nobody reads.

use crate::common::{Cluster, client};
use crate::group::{A, B, FILE, GROUP, config, set_map, write_at};
use crate::look::{OFTEN, chunk_file, flip, status, until_so};
use crate::meta::{DataPlace, Meta};
use nyala_storage::StorageConfig;
use nyala_wire::Pattern;
use nyala_wire::map::MemberState;

#[test]
fn a_flipped_byte_of_a_mirrored_file_heals_by_itself() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let place = DataPlace::default();
    *place.lock().unwrap() = Some((Pattern::Mirror, GROUP.0));
    let meta = Meta::start(&cluster, &place);
    let start = |target| cluster.storage(StorageConfig { scrub: OFTEN, ..config(&cluster, target) });
    let (a, b) = (start(A), start(B));
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::Good, Some(&b))], true);
    meta.join(&cluster);
    let paths = [A, B].map(|target| chunk_file(&cluster, &target.to_string(), FILE));
    client(async {
        let to = cluster.connect(&a).await;
        until_so("A leads", async || write_at(&cluster, &to, 1, 1, 0).await.is_ok()).await;
        write_at(&cluster, &to, 2, 2, 4096).await.unwrap();
        let right = std::fs::read(&paths[0]).unwrap();
        assert!(right.len() == 8192 && right == std::fs::read(&paths[1]).unwrap());
        // One block of the primary, and another one of the secondary.
        flip(&paths[0], 100);
        flip(&paths[1], 5000);
        let healed = || paths.iter().all(|path| std::fs::read(path).unwrap() == right);
        assert!(!healed());
        until_so("both are right again", async || healed()).await;
        for (storage, target) in [(&a, A), (&b, B)] {
            let all_right = async || {
                let said = status(&cluster, storage, target).await;
                said.ended_ms > 0 && said.damaged_bytes == 0 && said.damage.is_empty()
            };
            until_so("it is said", all_right).await;
        }
    });
    a.stop().unwrap();
    b.stop().unwrap();
}
