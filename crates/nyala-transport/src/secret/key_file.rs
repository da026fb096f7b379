// SPDX-License-Identifier: Apache-2.0

//! The text of a secret file that holds several keys. Pure.
//!
//! ```text
//! nyala-keys 1
//! key id=k1 roles=client,server,admin made=1790000000 secret=6b65…
//! key id=web roles=client rules=read-only,root-squash made=1790000300 secret=8f01…
//! end
//! ```
//!
//! The newest key stands last, and nothing after `end`. Empty lines and those that begin with `#` do not count.
//!
//! **Failure model.** The file may be cut short, edited by hand, or of a later version: anything that is not understood is refused
//! with its line, since half of a list of keys would lock others out. It is read whole before anything of it is used. An error
//! never shows a secret.

use super::key::{Grant, Key, KeyRoles, KeyRules, MAX_KEY_ID};
use super::{MAX_SECRET, MIN_SECRET};
use std::fmt::Write;

/// What such a file begins with.
pub const FIRST_LINE: &str = "nyala-keys 1";
/// What files of any version of this layout begin with.
const MAGIC: &[u8] = b"nyala-keys ";
/// Most keys of a file: an accepting side tries them one after the other.
pub const MAX_KEYS: usize = 64;

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

/// The keys of a file, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFile {
    /// At least one, of different ids and secrets.
    pub keys: Vec<KeyEntry>,
}

/// Whether these bytes are such a file, of whatever version, rather than a plain secret.
pub fn is_key_file(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl KeyFile {
    /// Reads the text of a file; or says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<KeyFile, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, FIRST_LINE)) => {}
            _ => {
                return Err(format!(
                    "it does not begin with the line {FIRST_LINE:?}; this build knows no other version"
                ));
            }
        }
        let (mut keys, mut ended): (Vec<KeyEntry>, bool) = (Vec::new(), false);
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
            let at = |what: String| format!("line {}: {what}", index + 1);
            if ended {
                return Err(at("there is something behind `end`".to_owned()));
            }
            if line.trim_end() == "end" {
                ended = true;
                continue;
            }
            let entry = parse_line(line).map_err(at)?;
            if keys.len() == MAX_KEYS {
                return Err(at(format!("there are more than {MAX_KEYS} keys")));
            }
            if let Some(other) = keys.iter().find(|key| key.grant.key == entry.grant.key || key.secret == entry.secret)
            {
                return Err(at(format!("key {} has the id or the secret of key {}", entry.grant.key, other.grant.key)));
            }
            keys.push(entry);
        }
        match (ended, keys.is_empty()) {
            (false, _) => Err("it is cut short: the line `end` is missing".to_owned()),
            (true, true) => Err("it holds no key".to_owned()),
            (true, false) => Ok(KeyFile { keys }),
        }
    }

    /// The text of the file.
    pub fn print(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n# `nyala secret` changes this file; the newest key stands last.\n");
        for KeyEntry { grant, made, secret } in &self.keys {
            let rules = if grant.rules.is_empty() { String::new() } else { format!(" rules={}", grant.rules) };
            let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
            // Writing to a string does not fail.
            let _ = writeln!(text, "key id={} roles={}{rules} made={made} secret={secret}", grant.key, grant.roles);
        }
        text + "end\n"
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

fn parse_line(line: &str) -> Result<KeyEntry, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> KeyFile {
        let entry = |id: &str, roles: &str, rules: KeyRules, made, byte| KeyEntry {
            grant: Grant { key: id.into(), roles: roles.parse().expect("roles"), rules },
            made,
            secret: vec![byte; 32],
        };
        let rules = KeyRules { read_only: true, root_squash: true };
        KeyFile { keys: vec![entry("k1", "all", KeyRules::default(), 0, 1), entry("web.2", "client", rules, 7, 2)] }
    }

    #[test]
    fn a_file_is_what_was_printed() {
        let text = file().print();
        assert!(is_key_file(text.as_bytes()));
        assert_eq!(KeyFile::parse(text.as_bytes()), Ok(file()));
        for cut in 1..text.len() - 1 {
            assert!(KeyFile::parse(&text.as_bytes()[..cut]).is_err(), "cut after {cut} bytes");
        }
        let last = text.lines().rev().nth(1).expect("a line");
        let (secret, made) = ("02".repeat(32), "made=7");
        assert_eq!(last, format!("key id=web.2 roles=client rules=read-only,root-squash {made} secret={secret}"));
        assert!(!format!("{:?}", file()).contains("2, 2"), "printing shows no secret");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let secret = "ab".repeat(32);
        let line = |text: &str| format!("{FIRST_LINE}\n\n# a note\n{}\nend\n", text.replace("SECRET", &secret));
        let good = "key id=a roles=client secret=SECRET";
        KeyFile::parse(line(good).as_bytes()).expect("this is the one that the others differ from");
        for (text, says) in [
            ("kee id=a roles=client secret=SECRET", "`key`"),
            ("key roles=client secret=SECRET", "`id=` is missing"),
            ("key id=a secret=SECRET", "`roles=` is missing"),
            ("key id=a roles=client", "`secret=` is missing"),
            ("key id=a/b roles=client secret=SECRET", "no id of a key"),
            ("key id=a roles=root secret=SECRET", "no role of a key"),
            ("key id=a roles=client rules=rw secret=SECRET", "no rule of a key"),
            ("key id=a roles=client until=9 secret=SECRET", "no part of a key"),
            ("key id=a id=b roles=client secret=SECRET", "twice"),
            ("key id=a roles=client made=now secret=SECRET", "`made`"),
            ("key id=a roles=client secret=SECRETf", "hexadecimal"),
            ("key id=a roles=client secret=abcd", "has 2 bytes"),
            ("key id=a roles=client SECRET", "without `=`"),
            (&format!("{good}\nend\n{good}"), "behind `end`"),
            (&format!("{good}\n{good}"), "line 5: key a has the id"),
            (&format!("{good}\n{}", good.replace("id=a", "id=b")), "key b has the id or the secret of key a"),
        ] {
            let error = KeyFile::parse(line(text).as_bytes()).expect_err(text);
            assert!(error.contains(says) && error.starts_with("line "), "{text}: {error}");
            assert!(!error.contains(&secret), "{error}");
        }
        assert!(KeyFile::parse(format!("{FIRST_LINE}\nend\n").as_bytes()).expect_err("empty").contains("no key"));
        assert!(KeyFile::parse(b"nyala-keys 2\n").expect_err("later").contains("no other version"));
        assert!(KeyFile::parse(b"nyala-keys \xff").expect_err("binary").contains("no text"));
    }

    #[test]
    fn keys_are_limited_in_number() {
        let keys = |count: usize| {
            let line = |index: usize| format!("key id=k{index} roles=client secret={index:064x}\n");
            format!("{FIRST_LINE}\n{}end\n", (0..count).map(line).collect::<String>())
        };
        assert_eq!(KeyFile::parse(keys(MAX_KEYS).as_bytes()).map(|file| file.keys.len()), Ok(MAX_KEYS));
        assert!(KeyFile::parse(keys(MAX_KEYS + 1).as_bytes()).expect_err("too many").contains("more than 64"));
    }
}
