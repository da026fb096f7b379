// SPDX-License-Identifier: Apache-2.0

//! Arithmetic and encoding of layouts.

use super::*;
use crate::codec;
use proptest::prelude::*;

fn layout(chunk_bytes: u32, width: u16) -> Layout {
    Layout { pattern: Pattern::Raid0, chunk_bytes, targets: (1..=width).map(TargetId).collect(), moves: 0, code: None }
}

proptest! {
    #[test]
    fn extents_tile_the_range(shift in 16_u32..20, width in 1_u16..7, offset in 0_u64..50_000_000, len in 0_u64..9_000_000, moves in 0_u32..200) {
        let layout = Layout { moves, ..layout(1 << shift, width) };
        let mut at = offset;
        for extent in layout.extents(offset, len) {
            prop_assert_eq!(extent.file_offset, at);
            prop_assert!(extent.len > 0 && extent.len <= 1 << shift);
            prop_assert_eq!(layout.file_offset(extent.index, extent.chunk_offset), at);
            at += extent.len;
        }
        prop_assert_eq!(at, offset + len);
    }

    #[test]
    fn chunk_file_lengths_add_up(shift in 16_u32..20, width in 1_u16..7, size in 0_u64..50_000_000) {
        let layout = layout(1 << shift, width);
        let total: u64 = (0..width).map(|index| layout.chunk_file_len(index, size)).sum();
        prop_assert_eq!(total, size);
        let mut ends = vec![0; width as usize];
        for extent in layout.extents(0, size) {
            ends[extent.index as usize] = extent.chunk_offset + extent.len;
        }
        for index in 0..width {
            prop_assert_eq!(ends[index as usize], layout.chunk_file_len(index, size));
        }
    }
}

#[test]
fn patterns_are_checked() {
    assert!(StripePattern::default().check().is_ok());
    for chunk_bytes in [0, 4096, 100_000, 1 << 31] {
        assert!(StripePattern { chunk_bytes, ..Default::default() }.check().is_err());
    }
    assert!(StripePattern { num_targets: 0, ..Default::default() }.check().is_err());
}

#[test]
fn a_layout_that_was_moved_has_other_names_and_is_refused_by_who_does_not_know_moves() {
    let first = layout(1 << 16, 3);
    let moved = Layout { moves: 65, ..first.clone() };
    assert_eq!(first.indices().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(moved.indices().collect::<Vec<_>>(), [1024, 1025, 1026]);
    assert!(first.has(2) && !first.has(3) && !first.has(1024) && moved.has(1026) && !moved.has(2) && !moved.has(1027));
    assert!(first.is_before(&moved) && !moved.is_before(&first) && !first.is_before(&first));
    assert_eq!(moved.location(1025), first.location(1));
    let (bytes, before) = (codec::encode(&moved), codec::encode(&first));
    assert_eq!((codec::decode::<Layout>(&bytes).unwrap(), codec::decode::<Layout>(&before).unwrap()), (moved, first));
    assert_eq!((&before[..2], &bytes[..2]), (&[0x83, 0][..], &[0x83, 0x19][..]), "a number above all patterns");
}

fn encoded(data: u8, parity: u8) -> Layout {
    let code = Some(ErasureCode { data, parity });
    Layout { pattern: Pattern::Ec, code, moves: 2, ..layout(1 << 16, u16::from(data + parity)) }
}

proptest! {
    #[test]
    fn parity_is_as_long_as_the_first_of_the_data(data in 2_u8..7, parity in 1_u8..5, size in 0_u64..9_000_000) {
        let layout = encoded(data, parity);
        let plain = Layout { pattern: Pattern::Raid0, code: None, targets: layout.targets[..usize::from(data)].to_vec(), ..layout.clone() };
        prop_assert_eq!(layout.extents(0, size).collect::<Vec<_>>(), plain.extents(0, size).collect::<Vec<_>>());
        prop_assert!(layout.data_indices().eq(plain.indices()));
        let lens: Vec<u64> = layout.indices().map(|index| layout.chunk_file_len(index, size)).collect();
        prop_assert_eq!(lens[..usize::from(data)].iter().sum::<u64>(), size);
        prop_assert!(lens[usize::from(data)..].iter().all(|len| *len == lens[0]));
    }
}

#[test]
fn codes_travel_with_layouts_and_those_who_do_not_know_them_refuse() {
    let now = encoded(4, 2);
    let waits = Layout { pattern: Pattern::Mirror, ..now.clone() };
    for layout in [&now, &waits] {
        assert!(layout.check().is_ok());
        let bytes = codec::encode(layout);
        assert_eq!(&codec::decode::<Layout>(&bytes).unwrap(), layout);
        assert_eq!(bytes[..2], [0x83, 0x1b], "a number above all patterns and moves");
    }
    assert_eq!((now.encoded(), now.to_encode()), (now.code, None));
    assert_eq!((waits.encoded(), waits.to_encode()), (None, now.code));
    let twice = Layout { targets: vec![TargetId(1); 6], ..now.clone() };
    assert!(twice.check().is_err());
    for wrong in [
        Layout { targets: now.targets[..5].to_vec(), ..now.clone() },
        Layout { code: None, ..now.clone() },
        Layout { code: Some(ErasureCode { data: 1, parity: 5 }), ..now.clone() },
        Layout { pattern: Pattern::Raid0, ..now.clone() },
    ] {
        assert!(wrong.check().is_err() && codec::decode::<Layout>(&codec::encode(&wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn patterns_with_codes_are_checked_and_travel() {
    let ec =
        StripePattern { pattern: Pattern::Ec, code: Some(ErasureCode { data: 4, parity: 2 }), ..Default::default() };
    assert!(ec.check().is_ok());
    assert_eq!(codec::decode::<StripePattern>(&codec::encode(&ec)).unwrap(), ec);
    assert_eq!(ec.of_new_files(), StripePattern { pattern: Pattern::Mirror, ..ec });
    for wrong in [
        StripePattern { code: None, ..ec },
        StripePattern { code: Some(ErasureCode { data: 17, parity: 2 }), ..ec },
        StripePattern { pattern: Pattern::Raid0, ..ec },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
}
