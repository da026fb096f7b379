// SPDX-License-Identifier: Apache-2.0

//! Against the general codec.

use super::*;
use crate::codec;
use crate::time::Time;
use minicbor::encode::Encoder;
use proptest::prelude::*;

fn written(write: impl Fn(&mut Plain<64>)) -> Vec<u8> {
    let (mut plain, mut encoder) = (Plain::default(), Encoder::new(Vec::new()));
    write(&mut plain);
    plain.write(&mut encoder).unwrap();
    encoder.into_writer()
}

fn any_number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #[test]
    fn the_same_bytes_as_the_general_codec(number in any_number(), seconds in any::<i64>(), shift in 0..64_u32, nanos in any::<u32>()) {
        let time = Time { seconds: seconds >> shift, nanos };
        let bytes = written(|plain| {
            plain.array(3).number(number).optional(Some(number)).time(time);
        });
        prop_assert_eq!(&bytes[1..], [codec::encode(&number), codec::encode(&number), codec::encode(&time)].concat());
        let mut reader = Reader::new(&bytes, 0);
        prop_assert_eq!((reader.array(), reader.number(), reader.optional(Reader::number), reader.time()), (Some(3), Some(number), Some(Some(number)), Some(time)));
        prop_assert_eq!(reader.position(), bytes.len());
        for cut in 1..bytes.len() {
            let mut reader = Reader::new(&bytes[..cut], 0);
            let all = (|| Some((reader.array()?, reader.number::<u64>()?, reader.optional(Reader::number::<u64>)?, reader.time()?)))();
            prop_assert_eq!(all, None::<(u64, u64, Option<u64>, Time)>);
        }
    }
}

#[test]
fn what_is_not_known_is_skipped() {
    let later =
        (7_u8, "text", vec![Some(vec![1_u64 << 40]), None], minicbor::bytes::ByteVec::from(vec![1; 300]), -5, 1.5);
    let bytes = codec::encode(&later);
    let mut reader = Reader::new(&bytes, 0);
    assert_eq!((reader.array(), reader.number::<u8>()), (Some(6), Some(7)));
    assert_eq!((reader.skip_from(1, 6), reader.position(), reader.skip_from(6, 6)), (Some(()), bytes.len(), Some(())));
    let mut cut = Reader::new(&bytes[..bytes.len() - 1], 0);
    assert!(cut.skip(1).is_none());
    for claim in [0x9b, 0xbb, 0x5b] {
        assert!(Reader::new(&[claim, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2], 0).skip(2).is_none());
    }
    let mut reader = Reader::new(&[0x43, 1, 2, 3, 0x43, 1], 0);
    assert_eq!((reader.bytes(), reader.bytes()), (Some(&[1, 2, 3][..]), None));
}

#[test]
fn what_is_not_a_number_is_none() {
    let bytes = written(|plain| {
        plain.flag(true).flag(false).optional(None::<u64>).number(300_u16);
    });
    assert_eq!(bytes, [0xf5, 0xf4, 0xf6, 0x19, 1, 44]);
    let mut reader = Reader::new(&bytes, 0);
    assert_eq!((reader.clone().number::<u8>(), reader.clone().array(), reader.clone().time()), (None, None, None));
    assert_eq!((reader.flag(), reader.optional(Reader::flag)), (Some(true), Some(Some(false))));
    assert_eq!((reader.optional(Reader::flag), reader.clone().flag()), (Some(None), None));
    assert_eq!(reader.number::<u8>(), None, "too large");
    for head in [0x1c, 0x1f, 0x9f, 0xff] {
        assert_eq!(Reader::new(&[head; 20], 0).number::<u64>(), None);
    }
    assert_eq!(Reader::new(&[], 5).number::<u64>(), None);
}
