// SPDX-License-Identifier: Apache-2.0

//! Tokens that end: `LETTER.SECONDS.NAME.CODE`, for somebody who is not to have the token of the file.
//!
//! `LETTER` is `v` (look) or `a` (look, and change things), `SECONDS` since 1970 when it ends, `NAME` who it is for, and `CODE` the keyed
//! BLAKE2s code (RFC 7693) of what stands before it, with the token in `rest.token` as the key, in hexadecimal. A node needs nothing
//! but its `rest.token` to know one; another `rest.token` ends them all.
//!
//! **Failure model.** Anybody sends anything: what is too long or of another form is nobody's token. The clock may be wrong: then a token
//! ends early or late by that much. Pure: the time is an argument.

use super::access::Access;
use blake2::Blake2sMac256;
use blake2::digest::Mac;
use std::fmt::Write;

/// Longest name.
const NAME: usize = 64;
/// Longest token, bytes.
const LONGEST: usize = 192;

/// What an issued token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issued {
    pub access: Access,
    /// Who it was made for.
    pub name: String,
    /// When it ends, seconds since 1970.
    pub ends_s: u64,
}

/// Whether a token may be made for this name: letters, digits, `-`, `_` and `@`, so that it is one word in logs.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_@".contains(&byte);
    (1..=NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// The token for what is said, made with the key.
pub(crate) fn make(key: &[u8], issued: &Issued) -> String {
    let letter = match issued.access {
        Access::View => 'v',
        Access::Admin => 'a',
    };
    let said = format!("{letter}.{}.{}", issued.ends_s, issued.name);
    let mut token = format!("{said}.");
    for byte in code(key, &said).finalize().into_bytes() {
        // Writing to a string does not fail.
        let _ = write!(token, "{byte:02x}");
    }
    token
}

/// What a token says, if it was made with the key and has not ended.
pub(crate) fn read(key: &[u8], token: &[u8], now_s: u64) -> Option<Issued> {
    let text = std::str::from_utf8(token).ok().filter(|text| text.len() <= LONGEST)?;
    let (said, hex) = text.rsplit_once('.')?;
    let digits = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let given: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(digits).collect();
    // Compares in a time that does not depend on what is wrong.
    code(key, said).verify_slice(&given?).ok()?;
    let mut parts = said.splitn(3, '.');
    let access = match parts.next()? {
        "v" => Access::View,
        "a" => Access::Admin,
        _ => return None,
    };
    let ends_s = parts.next()?.parse().ok().filter(|ends_s| now_s < *ends_s)?;
    let name = parts.next().filter(|name| is_name(name))?.to_owned();
    Some(Issued { access, name, ends_s })
}

fn code(key: &[u8], said: &str) -> Blake2sMac256 {
    // Keys of any length are taken: BLAKE2s itself takes up to 32 bytes, and this hashes longer ones.
    let mut mac = <Blake2sMac256 as Mac>::new(&short(key).into());
    mac.update(said.as_bytes());
    mac
}

/// A key of BLAKE2s' size, of one that is longer.
fn short(key: &[u8]) -> [u8; 32] {
    use blake2::Digest;
    blake2::Blake2s256::new().chain_update(b"nyala rest token").chain_update(key).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn issued(access: Access) -> Issued {
        Issued { access, name: "alice@ops".to_owned(), ends_s: 1000 }
    }

    #[test]
    fn a_token_says_what_it_was_made_for_until_it_ends() {
        for access in [Access::View, Access::Admin] {
            let token = make(KEY, &issued(access));
            assert_eq!(read(KEY, token.as_bytes(), 999), Some(issued(access)));
            assert_eq!(read(KEY, token.as_bytes(), 1000), None, "it has ended");
            assert_eq!(read(b"another key", token.as_bytes(), 1), None);
        }
    }

    #[test]
    fn nothing_of_it_can_be_changed() {
        let token = make(KEY, &issued(Access::View));
        for at in 0..token.len() {
            for put in [b'a', b'0', b'9', b'.', 0xff] {
                let mut wrong = token.clone().into_bytes();
                if wrong[at] != put {
                    wrong[at] = put;
                    assert_eq!(read(KEY, &wrong, 1), None, "{}", String::from_utf8_lossy(&wrong));
                }
            }
            assert_eq!(read(KEY, &token.as_bytes()[..at], 1), None);
        }
        assert_eq!(read(KEY, format!("{token}00").as_bytes(), 1), None);
        assert_eq!(read(KEY, &[b'v'; 1 << 16], 1), None);
        assert_eq!(read(KEY, "ü.ü.ü.ü".as_bytes(), 1), None);
    }

    #[test]
    fn names_are_words() {
        assert!(is_name("alice-2_@x") && !is_name("") && !is_name("a b") && !is_name("a.b") && !is_name("a\n"));
        assert!(!is_name(&"x".repeat(NAME + 1)));
    }
}
