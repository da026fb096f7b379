// SPDX-License-Identifier: Apache-2.0

//! Records that both sides seal and open, and that other builds read.

use super::*;
use crate::crypto;

fn record(plain: &[u8]) -> Vec<u8> {
    [plain, &[0; TAG_BYTES]].concat()
}

fn pair(suite: Suite, next: u64) -> (RecordKey, RecordKey) {
    (RecordKey::new(suite, [7; 32], next), RecordKey::new(suite, [7; 32], next))
}

#[test]
fn records_open_in_their_order_alone() {
    for suite in [Suite::ChaChaPoly, Suite::AesGcm] {
        let (mut seals, mut opens) = pair(suite, 1);
        let (mut first, mut second, mut empty) = (record(b"first"), record(b"second"), record(b""));
        [&mut first, &mut second, &mut empty].into_iter().for_each(|record| seals.seal(record).unwrap());
        assert!(!first.starts_with(b"first"));
        assert!(opens.open(&mut second.clone()).is_err(), "moved");
        let (_, mut opens) = pair(suite, 1);
        let mut changed = first.clone();
        changed[2] ^= 1;
        assert!(pair(suite, 1).1.open(&mut changed).is_err());
        assert!(pair(suite, 1).1.open(&mut [1; 15]).is_err(), "shorter than a tag");
        let mut again = first.clone();
        let len = opens.open(&mut first).unwrap();
        assert_eq!(&first[..len], b"first");
        assert!(opens.open(&mut again).is_err(), "repeated");
    }
}

#[test]
fn both_go_on_to_the_next_key_at_the_same_record() {
    let (mut seals, mut opens) = pair(Suite::AesGcm, RECORDS_PER_KEY - 1);
    let before = seals.secret;
    for round in 0..3 {
        let mut one = record(&[round; 100]);
        seals.seal(&mut one).unwrap();
        let len = opens.open(&mut one).unwrap();
        assert_eq!(one[..len], [round; 100]);
    }
    assert_ne!(seals.secret, before);
    let (mut chacha, _) = pair(Suite::ChaChaPoly, RECORDS_PER_KEY);
    chacha.seal(&mut record(b"x")).unwrap();
    assert_eq!(chacha.secret, [7; 32]);
}

/// What other builds write and read with snow's own records.
#[test]
fn chacha_is_that_of_noise() {
    let (psk, preamble) = ([3; 32], [4; 16]);
    let (mut client, mut server) =
        (crypto::start(&psk, &preamble, true).unwrap(), crypto::start(&psk, &preamble, false).unwrap());
    let (mut message, mut read) = ([0; 200], [0; 200]);
    let len = client.write_message(b"hello", &mut message).unwrap();
    server.read_message(&message[..len], &mut read).unwrap();
    let len = server.write_message(b"hello", &mut message).unwrap();
    client.read_message(&message[..len], &mut read).unwrap();
    let (to_server, to_client) = client.dangerously_get_raw_split();
    assert_eq!(server.dangerously_get_raw_split(), (to_server, to_client));
    let noise = client.into_stateless_transport_mode().unwrap();
    let mut sealed = record(b"to the server");
    RecordKey::new(Suite::ChaChaPoly, to_server, 5).seal(&mut sealed).unwrap();
    let len = noise.write_message(5, b"to the server", &mut message).unwrap();
    assert_eq!(message[..len], sealed);
    let theirs = server.into_stateless_transport_mode().unwrap();
    let len = theirs.write_message(9, b"to the client", &mut message).unwrap();
    let len = RecordKey::new(Suite::ChaChaPoly, to_client, 9).open(&mut message[..len]).unwrap();
    assert_eq!(&message[..len], b"to the client");
}

#[test]
fn aes_only_where_both_have_it() {
    assert_eq!(Suite::of(AES_GCM, AES_GCM | 0x80), Suite::AesGcm);
    for (ours, theirs) in [(0, AES_GCM), (AES_GCM, 0), (0, 0), (0x80, 0x80)] {
        assert_eq!(Suite::of(ours, theirs), Suite::ChaChaPoly);
    }
}
