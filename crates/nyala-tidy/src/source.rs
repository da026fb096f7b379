// SPDX-License-Identifier: Apache-2.0

//! One Rust file, with what rules ask of it: its code without prose, and which of it is only for tests.

use crate::items::{self, Function};
use crate::lexer;
use std::ops::Range;

/// A Rust file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// As it is.
    pub text: String,
    /// Without comments and contents of literals, same offsets.
    pub code: String,
    /// The whole file is for tests and measurements only: it does not ship.
    pub is_test: bool,
    test_items: Vec<Range<usize>>,
}

/// Crates that are nothing but tests.
const TEST_CRATES: &[&str] = &["crates/nyala-e2e/", "crates/nyala-sim-services/", "crates/nyala-fuzz/", "fuzz/"];

impl Source {
    /// Scans a file. Whether a file named like any other is only for tests is known to its parent: see
    /// [`crate::repo::Repo`].
    pub fn new(path: &str, text: &str) -> Source {
        let code = lexer::mask(text);
        let test_items = items::test_items(text, &code);
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_test = TEST_CRATES.iter().any(|dir| path.starts_with(dir))
            || ["/tests/", "/examples/", "/benches/"].iter().any(|dir| path.contains(dir))
            || name == "tests.rs"
            || name.ends_with("_test.rs")
            || name.ends_with("_tests.rs");
        Source { path: path.to_owned(), text: text.to_owned(), code, is_test, test_items }
    }

    /// The crate's directory name, if the file is in one.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether the byte at this offset is only compiled for tests.
    pub fn is_test_at(&self, offset: usize) -> bool {
        self.is_test || self.test_items.iter().any(|item| item.contains(&offset))
    }

    /// Line of a byte, from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Lines that are not only for tests.
    pub fn product_lines(&self) -> usize {
        let mut start = 0;
        let mut count = 0;
        for line in self.text.split_inclusive('\n') {
            count += usize::from(!self.is_test_at(start));
            start += line.len();
        }
        count
    }

    /// All functions with a body.
    pub fn functions(&self) -> Vec<Function> {
        items::functions(&self.code)
    }

    /// Whether the line of this byte, or the comment lines directly above it, hold `// why:`.
    pub fn says_why(&self, offset: usize) -> bool {
        self.says(offset, "// why:")
    }

    /// The same with another mark of a reason.
    pub fn says(&self, offset: usize, mark: &str) -> bool {
        let lines: Vec<&str> = self.text.lines().collect();
        let index = self.line_of(offset) - 1;
        let own = lines.get(index).is_some_and(|line| line.contains(mark));
        let above = lines[..index.min(lines.len())].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
        own || above.into_iter().any(|line| line.contains(mark))
    }

    /// Byte offsets of `needle` in code that ships.
    pub fn product_hits<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(needle).map(|(at, _)| at).filter(|at| !self.is_test_at(*at))
    }

    /// The module docs: the `//!` lines, without the marks.
    pub fn module_docs(&self) -> String {
        let docs = self.text.lines().filter_map(|line| line.strip_prefix("//!"));
        docs.flat_map(|line| [line, "\n"]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_place_and_by_attribute() {
        assert!(Source::new("crates/x/tests/a.rs", "").is_test);
        assert!(Source::new("crates/x/src/a/tests.rs", "").is_test);
        assert!(Source::new("crates/x/examples/a.rs", "").is_test);
        let source = Source::new("crates/x/src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n}\nfn b() {}\n");
        assert!(!source.is_test);
        assert_eq!(source.product_lines(), 2);
        assert!(source.is_test_at(source.text.find("mod").unwrap()));
    }

    #[test]
    fn reasons_are_on_the_line_or_above() {
        let text = "a();\n// why: x\n// and y\nb();\nc(); // why: z\nd();\n";
        let source = Source::new("crates/x/src/a.rs", text);
        let why = |needle: &str| source.says_why(text.find(needle).unwrap());
        assert!(!why("a()") && why("b()") && why("c()") && !why("d()"));
    }
}
