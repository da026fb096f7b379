// SPDX-License-Identifier: Apache-2.0

//! Any bytes give an operation or an error. Seeds are fixed, so a failure comes back.

use super::*;
use crate::abi::args::Rename2In;
use nyala_wire::SplitMix64;
use zerocopy::IntoBytes;

fn bytes(random: &mut SplitMix64, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.bits() as u8).collect()
}

fn header(opcode: u32, extlen: u16) -> InHeader {
    InHeader { opcode, nodeid: 1, unique: 2, total_extlen: extlen, ..InHeader::default() }
}

#[test]
fn random_bytes_never_panic_and_write_data_stays_inside() {
    let mut random = SplitMix64::new(1);
    let (mut parsed, mut refused) = (0, 0);
    for round in 0..60_000u32 {
        let opcode = round % 60;
        let len = (random.bits() % 160) as usize;
        let mut body = bytes(&mut random, len);
        // Half of the rounds have small numbers, so that lengths and counts are now and then right.
        if round % 2 == 0 {
            for (index, byte) in body.iter_mut().enumerate() {
                *byte = if index % 4 == 0 { *byte % 32 } else { 0 };
            }
        }
        let extlen = if round % 7 == 0 { random.bits() as u16 % 24 } else { 0 };
        match parse(&header(opcode, extlen), &body, random.bits()) {
            Ok(Op::File(FileOp::Write { data, .. })) => {
                assert!(data.start <= data.end && data.end <= body.len());
                parsed += 1;
            }
            Ok(_) => parsed += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(parsed > 1000 && refused > 1000, "the inputs are one-sided: {parsed} parsed, {refused} refused");
}

#[test]
fn every_prefix_of_a_request_is_refused_or_shorter() {
    let rename = [Rename2In { newdir: 9, flags: 1, padding: 0 }.as_bytes(), b"old\0new\0"].concat();
    let whole = parse(&header(Opcode::Rename2 as u32, 0), &rename, 0);
    match whole {
        Ok(Op::Tree(TreeOp::Rename { name, new_parent, new_name, flags })) => {
            assert_eq!((&name[..], new_parent, &new_name[..], flags), (&b"old"[..], Ino(9), &b"new"[..], 1));
        }
        other => panic!("{other:?}"),
    }
    for end in 0..rename.len() {
        assert!(parse(&header(Opcode::Rename2 as u32, 0), &rename[..end], 0).is_err(), "{end} bytes were enough");
    }
}

#[test]
fn lengths_that_lie_are_refused() {
    let huge = BatchForgetIn { count: u32::MAX, dummy: 0 };
    assert!(parse(&header(Opcode::BatchForget as u32, 0), huge.as_bytes(), 0).is_err());
    let write = crate::abi::args::WriteIn { size: 4097, ..Default::default() };
    let body = [write.as_bytes(), &[0; 4096]].concat();
    assert!(parse(&header(Opcode::Write as u32, 0), &body, 0).is_err());
    assert!(parse(&header(Opcode::Lookup as u32, 2), b"name\0", 0).is_err());
    assert!(parse(&header(Opcode::Lookup as u32, 0), b"a/b\0", 0).is_err());
    assert!(parse(&header(Opcode::Lookup as u32, 0), b"\0", 0).is_err());
}

#[test]
fn extensions_are_cut_off() {
    let body = [b"name\0".as_slice(), &[0xff; 8]].concat();
    match parse(&header(Opcode::Lookup as u32, 1), &body, 0) {
        Ok(Op::Tree(TreeOp::Lookup { name })) => assert_eq!(name, b"name"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_operations_are_told_apart_from_broken_ones() {
    assert_eq!(parse(&header(4096, 0), &[], 0).err(), Some(ParseError::Unknown(4096)));
    assert!(matches!(parse(&header(Opcode::Ioctl as u32, 0), &[], 0), Ok(Op::Unsupported)));
    assert!(matches!(parse(&header(Opcode::Getattr as u32, 0), &[1], 0), Err(ParseError::Malformed(_))));
}
