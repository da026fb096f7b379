// SPDX-License-Identifier: Apache-2.0

//! A session that is fenced while a member is away is refused by that member too, when it has come back and leads.

use crate::common::client;
use crate::group::{A, B, both_good, change, config, fence, set_map, state_of, until, write};
use nyala_wire::ErrorCode;
use nyala_wire::map::MemberState;
use nyala_wire::storage::StorageOp;

fn changes() -> [StorageOp; 3] {
    let (offset, len) = (4096, 4096);
    [StorageOp::Punch { offset, len }, StorageOp::Allocate { offset, len }, StorageOp::Truncate { len: 100 }]
}

#[test]
fn a_member_that_was_away_refuses_what_was_fenced_meanwhile() {
    let (cluster, a, b) = both_good();
    client(async {
        let to = cluster.connect(&a).await;
        write(&cluster, &to, 3, 1).await.unwrap();
    });
    b.stop().unwrap();
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::NeedsResync, None)], false);
    client(async { until("A has fenced session 1", async || fence(&cluster, &a, A, 1).await).await });
    let b = cluster.storage(config(&cluster, B));
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::NeedsResync, Some(&b))], false);
    client(async {
        until("B is resynced", async || state_of(&cluster, B) == Some(MemberState::Good)).await;
        // Told to the primary alone, as if metadata still took B for offline: it orders the fence for B.
        until("A has fenced session 2", async || fence(&cluster, &a, A, 2).await).await;
        // Told to one that does not lead.
        until("B has fenced session 4", async || fence(&cluster, &b, B, 4).await).await;
    });
    set_map(&cluster, &[(B, MemberState::Good, Some(&b)), (A, MemberState::Good, Some(&a))], true);
    client(async {
        let to = cluster.connect(&b).await;
        until("B leads", async || write(&cluster, &to, 3, 2).await.is_ok()).await;
        for session in [1, 2, 4] {
            assert_eq!(write(&cluster, &to, session, 100).await, Err(ErrorCode::FENCED), "session {session} at B");
            for (n, op) in changes().into_iter().enumerate() {
                let refused = change(&cluster, &to, session, 110 + n as u64, op.clone()).await;
                assert_eq!(refused, Err(ErrorCode::FENCED), "session {session} at B: {op:?}");
            }
        }
        for (n, op) in changes().into_iter().enumerate() {
            assert_eq!(change(&cluster, &to, 3, 110 + n as u64, op).await, Ok(()));
            let nobody = change(&cluster, &to, 0, 110 + n as u64, StorageOp::Truncate { len: 0 }).await;
            assert_eq!(nobody, Err(ErrorCode::UNAUTHORIZED), "a client's change without a session");
        }
    });
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::Good, Some(&b))], true);
    client(async {
        let to = cluster.connect(&a).await;
        until("A leads again", async || write(&cluster, &to, 3, 300).await.is_ok()).await;
        for session in [1, 2, 4] {
            assert_eq!(write(&cluster, &to, session, 101).await, Err(ErrorCode::FENCED), "session {session} at A");
        }
    });
    a.stop().unwrap();
    b.stop().unwrap();
}
