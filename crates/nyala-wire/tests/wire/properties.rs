// SPDX-License-Identifier: Apache-2.0

//! Every message survives the round trip. What is cut off, what has numbers of variants that nobody knows, and what was
//! damaged is refused with `BAD_MESSAGE`; nothing panics, and nothing of what was sent is dropped without a word, but for
//! fields that a newer sender has added.

use crate::cbor::{self, ARRAY, UNSIGNED};
use crate::shapes::{Shape, Variants};
use crate::tape::{Sample, Tape};
use minicbor::{Decode, Encode};
use nyala_wire::codec::{decode, encode};
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest};
use nyala_wire::meta_tx::{TxAction, TxPart, TxReply, TxRequest};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, ServiceStats};
use nyala_wire::raid::{RaidRequest, RaidState};
use nyala_wire::scrub::{ScrubRequest, ScrubState};
use nyala_wire::storage::{
    ReadHeader, ReadReplyHeader, StorageOp, StorageReply, StorageRequest, WriteHeader, decode_bulk,
};
use nyala_wire::trace::{TraceReply, TraceRequest};
use nyala_wire::{ErrorCode, WireError};
use proptest::prelude::*;
use std::fmt::Debug;

trait Message: Sample + Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug {}
impl<T: Sample + Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug> Message for T {}

/// Calls a function with the type of every body.
macro_rules! every_body {
    ($function:ident, $argument:expr) => {
        $function::<MetaRequest>($argument);
        $function::<MetaReply>($argument);
        $function::<TxRequest>($argument);
        $function::<TxReply>($argument);
        $function::<StorageRequest>($argument);
        $function::<StorageReply>($argument);
        $function::<RaidRequest>($argument);
        $function::<RaidState>($argument);
        $function::<ScrubRequest>($argument);
        $function::<ScrubState>($argument);
        $function::<MgmtRequest>($argument);
        $function::<MgmtReply>($argument);
        $function::<ClusterMap>($argument);
        $function::<ServiceStats>($argument);
        $function::<TraceRequest>($argument);
        $function::<TraceReply>($argument);
        $function::<LinkTestRequest>($argument);
        $function::<LinkTestReply>($argument);
        $function::<WireError>($argument);
    };
}

fn refused<T: Message>(bytes: &[u8]) {
    let error = decode::<T>(bytes).expect_err("must be refused");
    assert_eq!(error.code, ErrorCode::BAD_MESSAGE);
}

fn round_trip<T: Message>(message: &T) {
    let bytes = encode(message);
    assert_eq!(decode::<T>(&bytes).as_ref(), Ok(message));
    cbor::items(&bytes);
}

fn prefixes<T: Message>(message: &T) {
    let bytes = encode(message);
    (0..bytes.len()).for_each(|len| refused::<T>(&bytes[..len]));
}

/// An integer is replaced by one that may be no variant: either that is taken as it is, or all is refused.
fn integers<T: Message>(message: &T) {
    let bytes = encode(message);
    for item in cbor::items(&bytes).iter().filter(|item| item.major == UNSIGNED) {
        for value in [250, 1 << 40] {
            let changed = cbor::with_integer(&bytes, item, value);
            match decode::<T>(&changed) {
                Ok(taken) => assert_eq!(encode(&taken), changed, "{message:?} became {taken:?}"),
                Err(error) => assert_eq!(error.code, ErrorCode::BAD_MESSAGE),
            }
        }
    }
}

/// An array gets one more element, of a kind that no field has: either it is skipped, or all is refused.
fn elements<T: Message>(message: &T) -> usize {
    const UNDEFINED: &[u8] = &[0xf7];
    let bytes = encode(message);
    let mut skipped = 0;
    for array in cbor::items(&bytes).iter().filter(|item| item.major == ARRAY) {
        match decode::<T>(&cbor::with_element(&bytes, array, UNDEFINED)) {
            Ok(taken) => {
                assert_eq!(&taken, message);
                skipped += 1;
            }
            Err(error) => assert_eq!(error.code, ErrorCode::BAD_MESSAGE),
        }
    }
    skipped
}

fn all<T: Message>(bytes: &[u8]) {
    let message: T = Tape::of(bytes).take();
    round_trip(&message);
    prefixes(&message);
    integers(&message);
    elements(&message);
}

fn damaged<T: Message>((tape, damage): (&[u8], &[(u16, u8)])) {
    let message: T = Tape::of(tape).take();
    let mut bytes = encode(&message);
    for (at, xor) in damage {
        let at = usize::from(*at) % bytes.len();
        bytes[at] ^= xor;
    }
    match decode::<T>(&bytes) {
        Ok(taken) => round_trip(&taken),
        Err(error) => assert_eq!(error.code, ErrorCode::BAD_MESSAGE),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn bodies(tape in proptest::collection::vec(any::<u8>(), 0..300)) {
        every_body!(all, &tape);
    }

    #[test]
    fn damaged_bodies(
        tape in proptest::collection::vec(any::<u8>(), 0..300),
        damage in proptest::collection::vec(any::<(u16, u8)>(), 1..8),
    ) {
        every_body!(damaged, (&tape, &damage));
    }

    #[test]
    fn bulk_bodies_of_any_length(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let checksums = |header: usize| bytes.len().checked_sub(header).filter(|rest| rest % 4 == 0).map(|rest| rest / 4);
        prop_assert_eq!(decode_bulk::<WriteHeader>(&bytes).ok().map(|(_, crcs)| crcs.len()), checksums(64));
        prop_assert_eq!(decode_bulk::<ReadHeader>(&bytes).ok().map(|(_, crcs)| crcs.len()), checksums(32));
        prop_assert_eq!(decode_bulk::<ReadReplyHeader>(&bytes).ok().map(|(_, crcs)| crcs.len()), checksums(16));
    }
}

fn every_variant<T: Message + Variants>() {
    for (number, name, fields) in T::ROWS {
        let message = T::make(*number, &mut Tape::Counting(0));
        assert_eq!(message.number(), *number);
        round_trip(&message);
        prefixes(&message);
        integers(&message);
        assert!(elements(&message) > 0, "{name} cannot get another field");
        // The enum is an array of the number and the array of the fields.
        let items = cbor::items(&encode(&message));
        let shape = (items[0].value, items[1].value, items[2].major, items[2].value);
        assert_eq!(shape, (2, u64::from(*number), ARRAY, fields.len() as u64), "{name}");
    }
    let number = T::ROWS.last().unwrap().0 + 1;
    refused::<T>(&[&[0x82], &cbor::head(UNSIGNED, number.into())[..], &[0x80]].concat());
}

#[test]
fn variants() {
    every_variant::<MetaOp>();
    every_variant::<MetaReply>();
    every_variant::<TxAction>();
    every_variant::<TxPart>();
    every_variant::<TxReply>();
    every_variant::<StorageOp>();
    every_variant::<StorageReply>();
    every_variant::<MgmtRequest>();
    every_variant::<MgmtReply>();
}

/// Structures at the top get another field too.
#[test]
fn structures_grow() {
    fn grows<T: Message + Shape>(undefined: &[u8]) {
        let message: T = Tape::Counting(0).take();
        let bytes = encode(&message);
        let whole = &cbor::items(&bytes)[0];
        assert_eq!(whole.value, T::ROWS[0].2.len() as u64, "{}", T::NAME);
        assert_eq!(decode::<T>(&cbor::with_element(&bytes, whole, undefined)), Ok(message));
    }
    grows::<MetaRequest>(&[0xf7]);
    grows::<TxRequest>(&[0xa0]);
    grows::<StorageRequest>(&[0xf4]);
    grows::<ClusterMap>(&[0x9f, 0x01, 0xff]);
    grows::<ServiceStats>(&[0x61, b'x']);
    grows::<WireError>(&[0xc1, 0x00]);
}

/// What derived decoders take for an absent field, and so for "nothing there" or "leave it".
#[test]
fn an_unknown_variant_is_not_an_absent_field() {
    // TxReply::Prepared([PartResult::Entry([inode 5, kind 9])])
    refused::<TxReply>(&[0x82, 1, 0x81, 0x81, 0x82, 2, 0x81, 0x82, 5, 9]);
    // The same with kind 6, a block device, can be read.
    assert!(decode::<TxReply>(&[0x82, 1, 0x81, 0x81, 0x82, 2, 0x81, 0x82, 5, 6]).is_ok());
    // SetAttr with atime set in a way that does not exist.
    let set = [0x82, 0x18, 42, 0x82, 5, 0x88, 0xf6, 0xf6, 0xf6, 0xf6, 0x82, 7, 0x80, 0xf6, 0xf6, 0xf4];
    refused::<MetaOp>(&set);
    let mut now = set;
    now[11] = 0;
    assert!(matches!(decode::<MetaOp>(&now), Ok(MetaOp::SetAttr { set, .. }) if set.atime.is_some()));
}

/// Layouts that arithmetic would divide by zero with.
#[test]
fn impossible_layouts() {
    let layout = decode::<nyala_wire::Layout>;
    assert!(layout(&[0x83, 0, 0x1a, 0, 8, 0, 0, 0x81, 7]).is_ok());
    assert!(layout(&[0x83, 0, 0, 0x81, 7]).is_err());
    assert!(layout(&[0x83, 0, 0x1a, 0, 8, 0, 0, 0x80]).is_err());
}
