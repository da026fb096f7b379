// SPDX-License-Identifier: Apache-2.0

//! Effects there and back.

use super::*;

#[test]
fn effects_arrive_as_they_were_sent() {
    let object = ObjectId(0x1_0000_0000_0000_0007);
    let mut batch = Batch::new();
    batch.put(b"a", b"1").delete(b"b");
    let effects = [
        Effect::Read { member: 3, object, offset: 5, len: 6, patient: false },
        Effect::Write { member: 3, object, offset: 5, bytes: vec![1, 2].into(), then: Batch::new() },
        Effect::Discard { member: 3, object, offset: 5, len: Some(9) },
        Effect::Apply { member: 3, batch, sync: true },
        Effect::Get { member: 3, key: vec![1] },
        Effect::Scan { member: 3, from: vec![1], to: vec![2], limit: 7 },
        Effect::SyncFiles { member: 3 },
    ];
    for effect in effects {
        let (message, payload) = send(effect.clone());
        let arrived = receive(message, payload).unwrap();
        // The member is the other side's, and over there all reads are waited for.
        let text = format!("{effect:?}").replace("member: 3", "member: 0").replace("patient: false", "patient: true");
        assert_eq!(format!("{arrived:?}"), text);
    }
}

#[test]
fn long_lists_come_in_parts_and_nonsense_is_refused() {
    let scan = DriveEffect::Scan { from: vec![1], to: vec![9], most: 100 };
    let pairs: Vec<_> = (0..8_u8).map(|at| (vec![1, at], vec![at; MAX_DRIVE_BYTES / 4])).collect();
    let (reply, payload) = answer(Reply::Pairs(pairs.clone()), Some(100)).unwrap();
    assert!(payload.len() <= MAX_DRIVE_BYTES);
    let Some((Reply::Pairs(first), true)) = understand(&scan, reply, payload) else { panic!("there are more") };
    assert_eq!((first.len(), &first[0]), (3, &pairs[0]));
    let (reply, payload) = answer(Reply::Pairs(pairs[..2].to_vec()), Some(100)).unwrap();
    assert!(matches!(understand(&scan, reply, payload), Some((Reply::Pairs(all), false)) if all.len() == 2));
    let read = DriveEffect::Read { object: DriveObject([0; 16]), offset: 0, len: 5 };
    assert!(understand(&read, DriveReply::Done, Bytes::from_static(b"four")).is_none(), "too short");
    assert!(understand(&scan, DriveReply::Done, Bytes::new()).is_none());
    assert!(understand(&DriveEffect::SyncFiles, DriveReply::Value(true), Bytes::new()).is_none());
    let long = DriveEffect::Read { object: DriveObject([0; 16]), offset: 0, len: 1 << 30 };
    assert!(receive(long, Bytes::new()).is_err());
    assert!(receive(DriveEffect::Apply { sync: false }, Bytes::from_static(b"no batch")).is_err());
    assert!(answer(Reply::Failed, None).is_err());
}
