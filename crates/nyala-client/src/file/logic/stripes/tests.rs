// SPDX-License-Identifier: Apache-2.0

//! Whatever is lost of a stripe follows from the rest.

use super::*;
use nyala_wire::{Pattern, TargetId};
use proptest::prelude::*;

fn layout(data: u8, parity: u8) -> Layout {
    let code = ErasureCode { data, parity };
    let targets = (1..=code.width()).map(TargetId).collect();
    Layout { pattern: Pattern::Ec, chunk_bytes: 65_536, targets, moves: 3, code: Some(code) }
}

/// Every chunk file of a file, as encoding it by bands makes them.
fn chunk_files(layout: &Layout, file: &[u8], most: u64) -> Vec<Vec<u8>> {
    let code = layout.code.unwrap();
    let mut files = vec![Vec::new(); layout.targets.len()];
    for band in Band::all(layout, file.len() as u64, most) {
        let part = |stripe| band.file_range(layout, stripe, file.len() as u64);
        let bytes = |range: Range<u64>| {
            if range.is_empty() {
                Bytes::new()
            } else {
                Bytes::copy_from_slice(&file[range.start as usize..range.end as usize])
            }
        };
        let mut parts: Vec<Bytes> = (0..layout.width()).map(|stripe| bytes(part(stripe))).collect();
        parts.extend(encode(code, band.len() as usize, &parts).unwrap());
        for (file, part) in files.iter_mut().zip(parts) {
            assert!(part.is_empty() || file.len() as u64 == band.chunk_offset(layout));
            file.extend(part);
        }
    }
    files
}

proptest! {
    #[test]
    fn whatever_is_lost_follows_from_the_others(
        (data, parity) in (2_u8..6, 1_u8..4),
        size in 1_usize..900_000,
        most in prop::sample::select(vec![4096_u64, 20_000, 65_536]),
        seed: u64,
    ) {
        let layout = layout(data, parity);
        let mut random = seed | 1;
        let file: Vec<u8> = (0..size).map(|_| { random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1); (random >> 56) as u8 }).collect();
        let files = chunk_files(&layout, &file, most);
        for (index, chunk) in layout.indices().zip(&files) {
            prop_assert_eq!(chunk.len() as u64, layout.chunk_file_len(index, size as u64));
        }
        // Any part of any chunk, from any that suffice: so many neighbours behind it, around the end.
        let (lost, skip) = ((seed % u64::from(data)) as usize, (seed >> 8) as usize % usize::from(parity));
        prop_assume!(!files[lost].is_empty());
        let at = (seed >> 16) % files[lost].len() as u64;
        let len = (65_536 - at % 65_536).min(files[lost].len() as u64 - at).min(1 + (seed >> 40) % 9000);
        let band = Band::around(&layout, at, len);
        prop_assert_eq!(band.chunk_offset(&layout), at);
        let width = files.len();
        let others = (0..usize::from(data)).map(|number| (lost + 1 + skip + number) % width).filter(|part| *part != lost);
        let more = (0..width).filter(|part| *part != lost);
        let mut there: Vec<(usize, Bytes)> = Vec::new();
        for part in others.chain(more) {
            if there.len() < usize::from(data) && !there.iter().any(|(one, _)| *one == part) {
                let stored = band.stored(&layout, part as u64, size as u64) as usize;
                let bytes = if stored == 0 { Bytes::new() } else { Bytes::copy_from_slice(&files[part][at as usize..at as usize + stored]) };
                there.push((part, bytes));
            }
        }
        let again = decode(layout.code.unwrap(), len as usize, lost, &there).unwrap();
        prop_assert_eq!(&again[..], &files[lost][at as usize..(at + len) as usize]);
    }
}

#[test]
fn too_few_are_refused() {
    let there = [(1, Bytes::from_static(b"ab"))];
    assert!(decode(ErasureCode { data: 2, parity: 1 }, 2, 0, &there).is_err());
}

#[test]
fn the_bands_of_some_stripes_are_those_of_all_of_them() {
    let (layout, stripe) = (layout(3, 2), 3 * 65_536);
    for size in [stripe, 2 * stripe + 1, 4 * stripe - 70_000, 5 * stripe] {
        let all: Vec<Band> = Band::all(&layout, size, 20_000).collect();
        for first in 0..size.div_ceil(stripe) {
            let some: Vec<Band> = Band::within(&layout, first * stripe..size, 20_000).collect();
            let expected: Vec<Band> = all.iter().filter(|band| band.stripe >= first).cloned().collect();
            assert_eq!(some, expected, "{size} from {first}");
        }
    }
}

#[test]
fn a_part_of_pieces_has_zeros_between_them() {
    let pieces = [(3, Bytes::from_static(b"abc")), (8, Bytes::from_static(b"de"))];
    assert_eq!(&filled_range(&pieces, 0..12)[..], b"\0\0\0abc\0\0de\0\0");
    assert_eq!(&filled_range(&pieces, 4..9)[..], b"bc\0\0d");
}
