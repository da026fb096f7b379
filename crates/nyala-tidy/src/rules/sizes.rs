// SPDX-License-Identifier: Apache-2.0

//! Ceilings of files and functions. What they aim at is counted by [`crate::ratchet`].

use crate::Finding;
use crate::repo::Repo;

/// Most lines of product code in a file.
const FILE_CEILING: usize = 500;
/// Most lines of any file, tests included.
const TEST_FILE_CEILING: usize = 800;
/// Most lines of any function.
const FUNCTION_CEILING: usize = 70;
/// Most lines of a function of a test: an operation against its model is one table, an arm for each.
const TEST_FUNCTION_CEILING: usize = 130;

/// No file and no function is over its ceiling.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        let (all, product) = (source.text.lines().count(), source.product_lines());
        if product > FILE_CEILING {
            let message =
                format!("{product} lines of product code, the ceiling is {FILE_CEILING}: which two things is it?");
            findings.push(Finding::file(&source.path, message));
        } else if all > TEST_FILE_CEILING {
            findings.push(Finding::file(
                &source.path,
                format!("{all} lines, the ceiling with tests is {TEST_FILE_CEILING}"),
            ));
        }
        let ceiling = if source.path.contains("/tests/") { TEST_FUNCTION_CEILING } else { FUNCTION_CEILING };
        for function in source.functions() {
            let lines = source.code[function.start..function.end].lines().count();
            if lines > ceiling {
                let message = format!("`{}` has {lines} lines, the ceiling is {ceiling}", function.name);
                findings.push(Finding::at(&source.path, source.line_of(function.start), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repo::of(&[(path, text)])).len()
    }

    #[test]
    fn files_have_ceilings() {
        assert_eq!(findings("crates/x/src/a.rs", &"\n".repeat(500)), 0);
        assert_eq!(findings("crates/x/src/a.rs", &"\n".repeat(501)), 1);
        assert_eq!(findings("crates/x/tests/a.rs", &"\n".repeat(800)), 0);
        assert_eq!(findings("crates/x/tests/a.rs", &"\n".repeat(801)), 1);
        let with_tests = |n: usize| format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(400), "\n".repeat(n));
        assert_eq!(findings("crates/x/src/a.rs", &with_tests(300)), 0);
        assert_eq!(findings("crates/x/src/a.rs", &with_tests(400)), 1);
    }

    #[test]
    fn functions_have_a_ceiling() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "a(\"{\");\n".repeat(lines - 2));
        assert_eq!(findings("crates/x/src/a.rs", &function(70)), 0);
        assert_eq!(findings("crates/x/src/a.rs", &function(71)), 1);
        assert_eq!(findings("crates/x/tests/a.rs", &function(130)), 0);
        assert_eq!(findings("crates/x/tests/a.rs", &function(131)), 1);
    }
}
