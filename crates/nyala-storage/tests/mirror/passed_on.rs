// SPDX-License-Identifier: Apache-2.0

//! Who does not reach the primary asks another member to pass a request on.

use super::group::{A, B, both_good, change, change_by, fence, until};
use crate::common::client;
use nyala_transport::Role;
use nyala_wire::ErrorCode;
use nyala_wire::storage::StorageOp;

#[test]
fn a_member_passes_on_what_it_is_asked_to_and_only_what_the_sender_may_do() {
    let (cluster, a, b) = both_good();
    client(async {
        let (to_a, to_b) = (cluster.connect(&a).await, cluster.connect(&b).await);
        let cut = |len| StorageOp::Truncate { len };
        let alone = change(&cluster, &to_b, 1, 2, cut(3000)).await.unwrap_err();
        assert!(alone.is_transient(), "{B} does not lead: {alone:?}");
        let passed = async || change_by(&cluster, &to_b, 1, 2, (cut(3000), true)).await.is_ok();
        until("B knows who was fenced", passed).await;
        // Sent again to the primary itself, it is known there; so is one that is passed on after it was done.
        change(&cluster, &to_a, 1, 2, cut(3000)).await.unwrap();
        change_by(&cluster, &to_b, 1, 3, (StorageOp::Sync, true)).await.unwrap();
        change(&cluster, &to_a, 1, 4, cut(2000)).await.unwrap();
        change_by(&cluster, &to_b, 1, 4, (cut(2000), true)).await.unwrap();
        // The primary does what it is asked to by whoever asks.
        change_by(&cluster, &to_a, 1, 5, (cut(1000), true)).await.unwrap();
        // What only servers may send does not become theirs on the way.
        let foreign = change_by(&cluster, &to_b, 0, 6, (cut(0), true)).await;
        assert_eq!(foreign, Err(ErrorCode::UNAUTHORIZED));
        let server = cluster.connect_as(&b, Role::Meta).await;
        change_by(&cluster, &server, 0, 7, (cut(0), true)).await.unwrap();
        // Nor does a session get around its fence.
        assert!(fence(&cluster, &a, A, 1).await);
        let late = change_by(&cluster, &to_b, 1, 8, (StorageOp::Punch { offset: 0, len: 10 }, true)).await;
        assert_eq!(late, Err(ErrorCode::FENCED));
    });
    drop((a, b));
}
