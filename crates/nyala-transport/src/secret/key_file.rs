// SPDX-License-Identifier: Apache-2.0

//! The text of a secret file that holds several keys. Pure.
//!
//! ```text
//! nyala-keys 1
//! key id=k1 roles=client,server,admin made=1790000000 secret=6b65…
//! key id=web roles=client rules=read-only made=1790000300 secret=8f01…
//! end
//! ```
//!
//! The newest key stands last, and nothing after `end`. Empty lines and those that begin with `#` do not count.
//!
//! **Failure model.** The file may be cut short, edited by hand, or of a later version: anything that is not understood is refused
//! with its line, since half of a list of keys would lock others out. It is read whole before anything of it is used. An error
//! never shows a secret.

use std::fmt::Write;

mod line;

pub use line::{KeyEntry, check_id};

/// What such a file begins with.
pub const FIRST_LINE: &str = "nyala-keys 1";
/// What files of any version of this layout begin with.
const MAGIC: &[u8] = b"nyala-keys ";
/// Most keys of a file: an accepting side tries them one after the other.
pub const MAX_KEYS: usize = 64;

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
            let entry = line::parse(line).map_err(at)?;
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

#[cfg(test)]
mod tests;
