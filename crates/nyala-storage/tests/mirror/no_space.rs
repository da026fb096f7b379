// SPDX-License-Identifier: Apache-2.0

//! A mirror group on targets that are almost full.

use crate::common::client;
use crate::group::{both_limited, write, write_at};
use nyala_wire::ErrorCode;

/// What the targets hold, bytes; a 64th of it is kept free.
const LIMIT: u64 = 1 << 20;

#[test]
fn what_exists_can_be_overwritten_where_nothing_can_be_added() {
    let (cluster, a, b) = both_limited(Some(LIMIT));
    client(async {
        let to = cluster.connect(&a).await;
        let (mut blocks, mut number) = (1, 1);
        let full = loop {
            number += 1;
            match write_at(&cluster, &to, 1, number, blocks * 4096).await {
                Ok(()) => blocks += 1,
                Err(error) => break error,
            }
            assert!(blocks * 4096 <= LIMIT, "a limit of {LIMIT} bytes does not hold");
        };
        assert_eq!(full, ErrorCode::NO_SPACE);
        // Longer than the free room is remembered: what follows is about the room that there is.
        // sleeps: longer than the free room is remembered
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        for block in 0..blocks {
            number += 1;
            write_at(&cluster, &to, 1, number, block * 4096).await.expect("overwriting needs no room");
        }
        number += 1;
        assert_eq!(write_at(&cluster, &to, 1, number, blocks * 4096).await, Err(ErrorCode::NO_SPACE));
        number += 1;
        write(&cluster, &to, 1, number).await.expect("overwriting needs no room");
    });
    a.stop().unwrap();
    b.stop().unwrap();
}
