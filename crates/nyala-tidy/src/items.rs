// SPDX-License-Identifier: Apache-2.0

//! Functions and test-only items in masked code (see [`crate::lexer`]).

use std::ops::Range;

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Byte offset of `fn`.
    pub start: usize,
    /// Byte offset after the closing brace.
    pub end: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Byte offsets at which `word` stands as a whole word.
pub fn whole_words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).is_some_and(|i| is_word(bytes[i]));
        !before && !bytes.get(at + word.len()).is_some_and(|&byte| is_word(byte))
    })
}

/// The end of the item that begins at `from`: after its first `;` outside brackets or after its brace group.
pub fn item_end(code: &str, from: usize) -> usize {
    let (mut parens, mut braces) = (0_i32, 0_i32);
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => parens += 1,
            b')' | b']' => parens -= 1,
            b'{' => braces += 1,
            b'}' => {
                braces -= 1;
                if braces == 0 && parens <= 0 {
                    return at + 1;
                }
            }
            b';' if parens <= 0 && braces == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// All functions with a body, nested ones as well.
pub fn functions(code: &str) -> Vec<Function> {
    let named = whole_words(code, "fn").filter_map(|start| {
        let rest = code[start + 2..].trim_start();
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let end = item_end(code, start);
        let has_body = code[..end].ends_with('}');
        (!name.is_empty() && has_body).then_some(Function { name, start, end })
    });
    named.collect()
}

/// The types that a file gives methods to by `impl Type`, not by a trait.
pub fn inherent_impls(code: &str) -> Vec<&str> {
    let heads = whole_words(code, "impl").filter(|&at| at == 0 || code.as_bytes()[at - 1] == b'\n');
    let types = heads.filter_map(|at| {
        let head = code[at + 4..].split_once('{')?.0;
        let subject = if head.starts_with('<') { &head[generics_end(head)..] } else { head };
        let name = subject.trim_start();
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        (whole_words(subject, "for").next().is_none() && end > 0).then_some(&name[..end])
    });
    types.collect()
}

/// The end of the `<...>` that a text begins with.
fn generics_end(text: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>' && !text[..at].ends_with('-'));
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The items that only tests compile: under `#[test]`, `#[tokio::test]`, `#[cfg(test)]` and the like. `text` is the
/// unmasked code, for the feature's name in `feature = "testing"`.
pub fn test_items(text: &str, code: &str) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    for (start, _) in code.match_indices("#[") {
        let end = attribute_end(code, start);
        if is_test_attribute(&text[start..end]) {
            let mut item = end;
            while code[item..].trim_start().starts_with("#[") {
                item += code[item..].find("#[").unwrap_or(0);
                item = attribute_end(code, item);
            }
            items.push(start..item_end(code, item));
        }
    }
    items
}

/// The modules that are declared for tests only and live in other files: `#[cfg(test)] mod fuzz;`.
pub fn test_modules(text: &str, code: &str) -> Vec<String> {
    let declared = test_items(text, code).into_iter().filter_map(|item| {
        let body = code[item].trim_end().strip_suffix(';')?;
        let (before, name) = body.rsplit_once(char::is_whitespace)?;
        before.trim_end().ends_with("mod").then(|| name.to_owned())
    });
    declared.collect()
}

fn attribute_end(code: &str, start: usize) -> usize {
    let mut depth = 0_i32;
    for (at, byte) in code.bytes().enumerate().skip(start + 1) {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn is_test_attribute(attribute: &str) -> bool {
    let inner = attribute.trim_start_matches("#[").trim_end_matches(']');
    if let Some(condition) = inner.strip_prefix("cfg(") {
        let test = whole_words(condition, "test").next().is_some() || condition.contains("\"testing\"");
        return test && !condition.contains("not(");
    }
    let path = inner.split('(').next().unwrap_or(inner).trim();
    path == "test" || path.ends_with("::test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::mask;

    fn names(text: &str) -> Vec<(String, usize)> {
        let code = mask(text);
        let lines = |f: &Function| code[f.start..f.end].lines().count();
        functions(&code).iter().map(|f| (f.name.clone(), lines(f))).collect()
    }

    #[test]
    fn types_with_methods_of_their_own_are_found() {
        let code = "impl A {\n    fn f() {}\n}\nimpl<T: Fn() -> u8> B<T> where T: C {}\nimpl Trait for D {}\nfn f(x: impl E) {}\n";
        assert_eq!(inherent_impls(code), ["A", "B"]);
    }

    #[test]
    fn functions_with_bodies_are_found() {
        let text =
            "fn a(x: [u8; 4]) -> u8 {\n  \"}\";\n  'b'; // }\n}\ntrait T { fn b(); fn c() {} }\ntype F = fn(u8);";
        assert_eq!(names(text), [("a".into(), 4), ("c".into(), 1)]);
    }

    #[test]
    fn nested_functions_count_for_themselves() {
        assert_eq!(names("fn a() {\n fn b() {\n }\n}"), [("a".into(), 4), ("b".into(), 2)]);
    }

    #[test]
    fn test_items_are_ranges() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}\n#[test]\n#[allow(x)]\nfn d() { 1; }\nfn e() {}";
        let items = test_items(text, &mask(text));
        let got: Vec<&str> = items.iter().map(|item| &text[item.clone()]).collect();
        assert_eq!(got, ["#[cfg(test)]\nmod tests { fn b() {} }", "#[test]\n#[allow(x)]\nfn d() { 1; }"]);
    }

    #[test]
    fn attributes_that_mean_test() {
        for yes in ["#[test]", "#[tokio::test(start_paused = true)]", "#[cfg(any(test, feature = \"testing\"))]"] {
            assert!(is_test_attribute(yes), "{yes}");
        }
        for no in ["#[cfg(not(test))]", "#[cfg(unix)]", "#[derive(Debug)]", "#[cfg(feature = \"latest\")]"] {
            assert!(!is_test_attribute(no), "{no}");
        }
    }

    #[test]
    fn modules_for_tests_in_other_files() {
        let text = "#[cfg(test)]\nmod fuzz;\nmod real;\n#[cfg(any(test, feature = \"testing\"))]\npub mod testing;";
        assert_eq!(test_modules(text, &mask(text)), ["fuzz", "testing"]);
    }
}
