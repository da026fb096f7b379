// SPDX-License-Identifier: Apache-2.0

//! Answers that come at different times.

use super::*;
use nyala_replica::Body;
use nyala_wire::GroupId;

fn answer(seq: u64) -> Envelope {
    Envelope { group: GroupId(1), epoch: 1, term: 1, body: Body::Forwarded { seq, ok: true } }
}

#[test]
fn an_answer_does_not_wait_for_a_slower_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let channels = || (0..4).map(|_| oneshot::channel()).unzip::<_, _, Vec<_>, Vec<_>>();
        let (mut ask, waits) = channels();
        ask.remove(2).send(answer(2)).unwrap();
        ask.remove(0).send(answer(0)).unwrap();
        assert_eq!(collect_first(waits).await, [answer(0), answer(2)]);
        assert!(ask.iter().all(oneshot::Sender::is_closed), "what comes later goes its own way");
        let (mut ask, waits) = channels();
        let later = async {
            tokio::task::yield_now().await;
            drop(ask.remove(3));
            tokio::task::yield_now().await;
            ask.remove(2).send(answer(2)).unwrap();
            ask.remove(1).send(answer(1)).unwrap();
        };
        assert_eq!(tokio::join!(collect_first(waits), later).0, [answer(1), answer(2)]);
        let (ask, waits) = channels();
        drop(ask);
        assert_eq!(collect_first(waits).await, []);
        assert_eq!(collect_first(Vec::new()).await, []);
    });
}
