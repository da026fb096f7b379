// SPDX-License-Identifier: Apache-2.0

//! Whatever lies in a table: it is what was written, or it is refused.

use nyala_raid::intent::Intent;
use nyala_raid::row::{Column, Row};
use nyala_raid::superblock::Superblock;
use nyala_raid::walk::Scrub;
use nyala_raid::{ObjectId, StripeId};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200), blocks in 1_usize..20) {
        if let Some(row) = Row::decode(&bytes, blocks) {
            // A column that is there twice counts once.
            prop_assert!(row.encode().len() <= bytes.len());
        }
        if let Some(intent) = Intent::decode(&bytes) {
            prop_assert_eq!(intent.encode(), bytes.clone());
        }
        prop_assert_eq!(Superblock::decode(&bytes), None, "chance makes no checksum");
        if let Some(scrub) = Scrub::decode(&bytes) {
            prop_assert_eq!(scrub.encode(), bytes);
        }
    }

    #[test]
    fn rows_and_intents_come_back(sums in vec(vec(any::<Option<u32>>(), 9), 0..6), version: u64, bytes in vec(any::<u8>(), 0..50)) {
        let column = |(at, sums)| (at * 3, Column { version, sums });
        let row = Row { columns: sums.into_iter().enumerate().map(column).collect() };
        prop_assert_eq!(Row::decode(&row.encode(), 9), Some(row.clone()));
        let stripe = StripeId { object: ObjectId(u128::from(version) << 40), number: version };
        let logged = Intent::Logged { stripe, members: vec![1, 120], block: 7, bytes: bytes.into(), row: row.encode() };
        prop_assert_eq!(Intent::decode(&logged.encode()), Some(logged));
    }
}
