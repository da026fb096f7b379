// SPDX-License-Identifier: Apache-2.0

//! The last gate of a bundle: nothing that is known to be secret leaves, wherever it stands. Pure.

/// What stands where a secret was.
const INSTEAD: &[u8] = b"[secret]";
/// Shorter ones would be found in all kinds of text.
pub const LEAST: usize = 4;

/// Secrets to be taken out.
#[derive(Clone, Default)]
pub struct Scrub {
    /// The longest first, so that one that begins another does not leave the rest of it.
    secrets: Vec<Vec<u8>>,
}

impl Scrub {
    /// Adds a secret, as it is and as JSON would write it. False: it is too short to be looked for.
    pub fn hide(&mut self, secret: &[u8]) -> bool {
        if secret.len() < LEAST {
            return false;
        }
        let text = std::str::from_utf8(secret).ok().and_then(|text| serde_json::to_string(text).ok());
        let escaped = text.map(|text| text.as_bytes()[1..text.len() - 1].to_vec());
        self.secrets.extend([Some(secret.to_vec()), escaped].into_iter().flatten());
        self.secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.secrets.dedup();
        true
    }

    /// Adds what is secret in a file that holds keys, a password or a token: in a list of keys each `secret=…`, else the whole of it.
    pub fn hide_file(&mut self, content: &[u8]) -> bool {
        let content = content.trim_ascii();
        if !content.starts_with(b"nyala-keys ") {
            return self.hide(content);
        }
        let words = content.split(|byte| byte.is_ascii_whitespace());
        let secrets: Vec<&[u8]> = words.filter_map(|word| word.strip_prefix(b"secret=".as_slice())).collect();
        secrets.into_iter().map(|secret| self.hide(secret)).fold(true, |all, hidden| all & hidden)
    }

    /// The bytes without the secrets.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            match self.secrets.iter().find(|secret| bytes[at..].starts_with(secret)) {
                Some(secret) => {
                    out.extend_from_slice(INSTEAD);
                    at += secret.len();
                }
                None => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        out
    }

    /// A text without the secrets.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        let mut scrub = Scrub::default();
        assert!(
            scrub.hide(b"hunter2hunter2") && scrub.hide(b"hunter2") && scrub.hide(b"a\"b\\c") && !scrub.hide(b"abc")
        );
        assert_eq!(scrub.text("xhunter2hunter2y hunter2"), "x[secret]y [secret]");
        assert_eq!(scrub.text(r#"{"k":"a\"b\\c"} a"b\c abc"#), r#"{"k":"[secret]"} [secret] abc"#);
        assert_eq!(scrub.bytes(b"\xff\xfehunter2\xff"), b"\xff\xfe[secret]\xff");
    }

    #[test]
    fn of_a_list_of_keys_what_is_secret_in_it() {
        let mut scrub = Scrub::default();
        let list = "nyala-keys 1\nkey id=k1 roles=client made=1 secret=6b65796b6579\nkey id=k2 secret=00ff00ff\nend\n";
        assert!(scrub.hide_file(list.as_bytes()));
        assert_eq!(scrub.text("id=k1 6b65796b6579 00ff00ff end"), "id=k1 [secret] [secret] end");
        assert!(scrub.hide_file(b"plain secret of bytes\n"));
        assert_eq!(scrub.text("(plain secret of bytes)"), "([secret])");
    }
}
