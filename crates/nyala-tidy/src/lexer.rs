// SPDX-License-Identifier: Apache-2.0

//! Just enough of Rust's lexical rules to tell code from prose.
//!
//! [`mask`] gives a text of the same length, byte for byte, in which the contents of comments, strings and character
//! literals are spaces (their quotes stay, and so do line ends). Braces in what is left are braces of the code.

/// Blanks comments and the contents of literals; the result has the same length and the same line ends.
pub fn mask(text: &str) -> String {
    let mut lexer = Lexer { text: text.as_bytes(), out: text.as_bytes().to_vec(), at: 0 };
    while lexer.at < lexer.text.len() {
        lexer.step();
    }
    // Only whole characters were replaced, by ASCII spaces.
    String::from_utf8(lexer.out).expect("blanking whole literals and comments keeps the text UTF-8")
}

struct Lexer<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    at: usize,
}

impl Lexer<'_> {
    fn step(&mut self) {
        match (self.text[self.at], self.peek(1)) {
            (b'/', b'/') => self.line_comment(),
            (b'/', b'*') => self.block_comment(),
            (b'"', _) => self.string(),
            (b'\'', _) => self.quote(),
            (byte, _) if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => self.word(),
            _ => self.at += 1,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn blank(&mut self, from: usize, to: usize) {
        for byte in &mut self.out[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }

    fn line_comment(&mut self) {
        let start = self.at;
        while self.at < self.text.len() && self.text[self.at] != b'\n' {
            self.at += 1;
        }
        self.blank(start, self.at);
    }

    fn block_comment(&mut self) {
        let (start, mut depth) = (self.at, 0_u32);
        while self.at < self.text.len() {
            match (self.text[self.at], self.peek(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                break;
            }
        }
        self.blank(start, self.at);
    }

    /// A string with escapes, `at` on its first quote.
    fn string(&mut self) {
        let start = self.at + 1;
        self.at = start;
        while self.at < self.text.len() && self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = self.at.min(self.text.len());
        self.blank(start, self.at);
        self.at += 1;
    }

    /// A character literal or the tick of a lifetime.
    fn quote(&mut self) {
        let start = self.at + 1;
        let first = self.peek(1);
        let len = match first {
            b'\\' => 2,
            _ if first < 0x80 => 1,
            _ if first < 0xe0 => 2,
            _ if first < 0xf0 => 3,
            _ => 4,
        };
        if first != b'\\' && self.peek(1 + len) != b'\'' {
            self.at = start; // a lifetime or a label
            return;
        }
        self.at = (start + len).min(self.text.len());
        while self.at < self.text.len() && self.text[self.at] != b'\'' {
            self.at += 1; // the rest of \x7f or \u{1f600}
        }
        self.blank(start, self.at);
        self.at += 1;
    }

    /// An identifier or number; or the `r`, `br`, `cr` of a raw string, which has no escapes.
    fn word(&mut self) {
        let start = self.at;
        while matches!(self.peek(0), b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0x80..) {
            self.at += 1;
        }
        if !matches!(&self.text[start..self.at], b"r" | b"br" | b"cr") {
            return;
        }
        let mut hashes = 0;
        while self.peek(hashes) == b'#' {
            hashes += 1;
        }
        if self.peek(hashes) != b'"' {
            return; // a raw identifier, or a variable named r
        }
        let body = self.at + hashes + 1;
        let close: Vec<u8> = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
        let len = self.text[body..].windows(close.len()).position(|window| window == close);
        let end = len.map_or(self.text.len(), |len| body + len);
        self.blank(body, end);
        self.at = (end + close.len()).min(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    fn same_shape(text: &str, want: &str) {
        let got = mask(text);
        assert_eq!(got, want);
        assert_eq!(got.len(), text.len());
    }

    #[test]
    fn comments_are_blank() {
        same_shape("a // {\nb", "a     \nb");
        same_shape("a /* { /* } */ \n } */ b", "a              \n      b");
    }

    #[test]
    fn strings_are_blank() {
        same_shape(r#"f("{\"", 1)"#, r#"f("   ", 1)"#);
        same_shape(r###"f(r#"{"\"#, br"\")"###, r###"f(r#"   "#, br" ")"###);
        same_shape("\"a // b\" c", "\"      \" c");
        same_shape(r#"c"{" b"}""#, r#"c" " b" ""#);
    }

    #[test]
    fn characters_and_lifetimes() {
        same_shape("'{' 'a' b'}'", "' ' ' ' b' '");
        same_shape(r"'\'' '\\' '\u{7b}' {", r"'  ' '  ' '      ' {");
        same_shape("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        same_shape("'outer: loop { break 'outer }", "'outer: loop { break 'outer }");
        same_shape("'\u{e4}' x '\u{2500}'", "'  ' x '   '");
    }

    #[test]
    fn raw_identifiers_and_names_that_end_in_r() {
        same_shape("r#fn(\"{\")", "r#fn(\" \")");
        same_shape(r#"var"\"" x"#, r#"var"  " x"#);
        same_shape("r + 1", "r + 1");
    }

    #[test]
    fn unfinished_literals_end_with_the_text() {
        for text in ["\"abc", "\"abc\\", "/* abc", "r#\"abc", "'\\", "'", "'a"] {
            assert_eq!(mask(text).len(), text.len());
        }
    }
}
