// SPDX-License-Identifier: Apache-2.0

//! One key, as a line of the file.

use crate::secret::error::{MAX_SECRET, MIN_SECRET};
use crate::secret::key::{Grant, Key, KeyRoles, KeyRules, MAX_KEY_ID};

/// One key of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its id, roles and rules.
    pub grant: Grant,
    /// When it was made, seconds since 1970; 0 where nobody knows.
    pub made: u64,
    /// What the key is derived from.
    pub secret: Vec<u8>,
}

impl std::fmt::Debug for KeyEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyEntry").field("grant", &self.grant).field("made", &self.made).finish_non_exhaustive()
    }
}

impl KeyEntry {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.grant.clone(), &self.secret)
    }
}

/// Whether this may be the id of a key: it stands in commands, lines and logs.
pub fn check_id(id: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match (1..=MAX_KEY_ID).contains(&id.len()) && id.chars().all(fits) {
        true => Ok(()),
        false => Err(format!("{id:?} is no id of a key: 1 to {MAX_KEY_ID} letters, digits, '-', '_' and '.'")),
    }
}

/// Reads a line; or says what is wrong with it.
pub(super) fn parse(line: &str) -> Result<KeyEntry, String> {
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("key") {
        return Err("it does not begin with `key`".to_owned());
    }
    let (mut id, mut roles, mut rules, mut made, mut secret) = (None, None, None, None, None);
    for word in words {
        let (name, value) = word.split_once('=').ok_or("there is a word without `=`")?;
        let twice = match name {
            "id" => id.replace(check_id(value).map(|()| value)?).is_some(),
            "roles" => roles.replace(value.parse::<KeyRoles>()?).is_some(),
            "rules" => rules.replace(value.parse::<KeyRules>()?).is_some(),
            "made" => made.replace(value.parse().map_err(|_| "`made` is no number of seconds")?).is_some(),
            "secret" => secret.replace(from_hex(value)?).is_some(),
            // Not the value: it might be a secret.
            other => {
                return Err(format!("{:?} is no part of a key", other.chars().take(MAX_KEY_ID).collect::<String>()));
            }
        };
        if twice {
            return Err(format!("`{name}` stands there twice"));
        }
    }
    let (id, roles) = (id.ok_or("`id=` is missing")?, roles.ok_or("`roles=` is missing")?);
    let grant = Grant { key: id.into(), roles, rules: rules.unwrap_or_default() };
    Ok(KeyEntry { grant, made: made.unwrap_or(0), secret: secret.ok_or("`secret=` is missing")? })
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        let digit = |at: usize| pair.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        digit(0).zip(digit(1)).map(|(high, low)| (high * 16 + low) as u8)
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    let bytes = bytes.ok_or("`secret` is not hexadecimal")?;
    match (MIN_SECRET..=MAX_SECRET).contains(&bytes.len()) {
        true => Ok(bytes),
        false => Err(format!("`secret` has {} bytes, it must have {MIN_SECRET} to {MAX_SECRET}", bytes.len())),
    }
}
