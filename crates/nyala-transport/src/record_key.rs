// SPDX-License-Identifier: Apache-2.0

//! The key of one direction of an encrypted connection: it seals records, or opens them (`docs/protocol.md`, Records). Pure.
//!
//! **Failure model.** A record that was changed, left out, repeated or moved does not open, since its number goes into the nonce and is counted on both sides. No number is
//! used twice under one key: a key counts up, and a connection has keys of its own. With AES-GCM a key that had sealed very much would say more than nothing of what it sealed, so
//! both sides go on to the next one, which does not lead back, after [`RECORDS_PER_KEY`] records.

use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use snow::params::HashChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use std::io::{Error, ErrorKind, Result};

/// Bytes that a sealed record has more than a plain one.
pub(crate) const TAG_BYTES: usize = 16;
/// Records under one key with AES-GCM: 256 GiB if they are full. TLS 1.3 (RFC 8446, 5.5) goes on a little later, by bytes.
const RECORDS_PER_KEY: u64 = 1 << 22;
const FIRST_DOMAIN: &[u8] = b"nyala.records.aes-256-gcm.v1";
const NEXT_DOMAIN: &[u8] = b"nyala.records.next-key.v1";

/// How records are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// As Noise has it: known to every build.
    ChaChaPoly,
    /// With keys derived from Noise's: cheaper where the processor does it by itself (decision 0039 has the figures).
    AesGcm,
}

impl Suite {
    /// What the bits of both hellos come to.
    pub fn of(ours: u8, theirs: u8) -> Suite {
        if ours & theirs & AES_GCM != 0 { Suite::AesGcm } else { Suite::ChaChaPoly }
    }
}

/// In a hello: this side does AES-GCM fast.
const AES_GCM: u8 = 1;

/// What this machine says in its hello.
pub(crate) fn offered() -> u8 {
    #[cfg(target_arch = "x86_64")]
    let fast = std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let fast = std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let fast = false;
    if fast { AES_GCM } else { 0 }
}

/// One direction.
pub(crate) struct RecordKey {
    suite: Suite,
    secret: [u8; 32],
    key: LessSafeKey,
    next: u64,
}

impl RecordKey {
    /// From Noise's key of the direction; the next record has this number.
    pub fn new(suite: Suite, noise: [u8; 32], next: u64) -> RecordKey {
        let secret = match suite {
            Suite::ChaChaPoly => noise,
            Suite::AesGcm => derived(FIRST_DOMAIN, &noise),
        };
        RecordKey { suite, secret, key: key(suite, &secret), next }
    }

    /// Seals plain bytes in their place. Behind them are [`TAG_BYTES`] for the tag.
    pub fn seal(&mut self, record: &mut [u8]) -> Result<()> {
        let nonce = self.nonce();
        let plain = record.len().checked_sub(TAG_BYTES).ok_or(ErrorKind::InvalidInput)?;
        let (plain, tag) = record.split_at_mut(plain);
        // ring refuses only what is longer than a record can be.
        let sealed = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), plain);
        tag.copy_from_slice(sealed.map_err(|_| ErrorKind::InvalidInput)?.as_ref());
        Ok(())
    }

    /// Opens a record in its place; gives the number of plain bytes, which are at its front.
    pub fn open(&mut self, record: &mut [u8]) -> Result<usize> {
        let nonce = self.nonce();
        let plain = self.key.open_in_place(nonce, Aad::empty(), record);
        plain
            .map(|plain| plain.len())
            .map_err(|_| Error::new(ErrorKind::InvalidData, "encrypted record does not decrypt"))
    }

    /// That of the next record, which is counted: four zeros, then its number as the Noise protocol has it for either cipher.
    fn nonce(&mut self) -> Nonce {
        let number = self.next;
        // One of a direction for each record of up to 64 KiB: 2^64 of them take longer than any machine lasts.
        self.next += 1;
        if self.suite == Suite::AesGcm && number > 0 && number.is_multiple_of(RECORDS_PER_KEY) {
            self.secret = derived(NEXT_DOMAIN, &self.secret);
            self.key = key(self.suite, &self.secret);
        }
        let mut nonce = [0; NONCE_LEN];
        nonce[4..].copy_from_slice(&match self.suite {
            Suite::ChaChaPoly => number.to_le_bytes(),
            Suite::AesGcm => number.to_be_bytes(),
        });
        Nonce::assume_unique_for_key(nonce)
    }
}

fn key(suite: Suite, secret: &[u8; 32]) -> LessSafeKey {
    let algorithm = match suite {
        Suite::ChaChaPoly => &CHACHA20_POLY1305,
        Suite::AesGcm => &AES_256_GCM,
    };
    LessSafeKey::new(UnboundKey::new(algorithm, secret).expect("both ciphers have keys of 32 bytes"))
}

/// HMAC-BLAKE2s.
fn derived(domain: &[u8], secret: &[u8; 32]) -> [u8; 32] {
    let hash = DefaultResolver.resolve_hash(&HashChoice::Blake2s);
    let mut key = [0; 32];
    hash.expect("the workspace builds snow with its BLAKE2 feature").hmac(domain, secret, &mut key);
    key
}

#[cfg(test)]
mod tests;
