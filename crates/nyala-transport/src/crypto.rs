// SPDX-License-Identifier: Apache-2.0

//! Noise as we use it: `Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`, the pre-shared key being derived from the secret.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const KEY_DOMAIN: &[u8] = b"nyala.cluster-secret.v1";
const GRANT_DOMAIN: &[u8] = b"nyala.storage-grant.v1";
const USERS_DOMAIN: &[u8] = b"nyala.rule-users.v1";
const PROOF_DOMAIN: &[u8] = b"nyala.subtree-proof.v1";
const PROLOGUE_DOMAIN: &[u8] = b"nyala.handshake.v1";

/// The default primitives with the system's randomness, whatever features snow was built with.
struct Resolver;

struct SystemRandom;

impl Random for SystemRandom {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        getrandom::fill(dest).map_err(|_| snow::Error::Rng)
    }
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SystemRandom))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// HMAC-BLAKE2s with a domain string as key, so that the same secret file used for anything else gives another key.
pub(crate) fn derive_key(secret: &[u8]) -> [u8; 32] {
    let mut hash =
        DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("the workspace builds snow with its BLAKE2 feature");
    let mut key = [0; 32];
    hash.hmac(KEY_DOMAIN, secret, &mut key);
    key
}

/// HMAC-BLAKE2s.
pub(crate) fn code(key: &[u8; 32], data: &[u8]) -> [u8; 32] {
    let mut hash =
        DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("the workspace builds snow with its BLAKE2 feature");
    let mut code = [0; 32];
    hash.hmac(key, data, &mut code);
    code
}

/// The key of proofs that belongs to a key of servers.
pub(crate) fn proof_key(psk: &[u8; 32]) -> [u8; 32] {
    code(psk, PROOF_DOMAIN)
}

/// The key of grants that belongs to a key of servers.
pub(crate) fn grant_key(psk: &[u8; 32]) -> [u8; 32] {
    code(psk, GRANT_DOMAIN)
}

/// What stands for the part of a rule that is about users. No secret.
pub(crate) fn users_digest(rule: &[u8]) -> [u8; 32] {
    let mut hash =
        DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("the workspace builds snow with its BLAKE2 feature");
    let mut digest = [0; 32];
    hash.hmac(USERS_DOMAIN, rule, &mut digest);
    digest
}

/// One side of a handshake. `preamble` is what the initiator sent in clear: mixed in, it cannot be changed on the way.
pub(crate) fn start(key: &[u8; 32], preamble: &[u8], initiator: bool) -> Result<HandshakeState, snow::Error> {
    let prologue = [PROLOGUE_DOMAIN, preamble].concat();
    let builder = Builder::with_resolver(PATTERN.parse()?, Box::new(Resolver)).psk(0, key)?.prologue(&prologue)?;
    if initiator { builder.build_initiator() } else { builder.build_responder() }
}
