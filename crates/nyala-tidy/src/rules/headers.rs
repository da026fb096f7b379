// SPDX-License-Identifier: Apache-2.0

//! Every file begins with its licence and then says what it is for.

use crate::Finding;
use crate::repo::Repo;

const LICENCE: &str = "// SPDX-License-Identifier: Apache-2.0";

/// The first line is the licence and the first line of substance after it is module documentation.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        let mut lines = source.text.lines();
        if lines.next() != Some(LICENCE) {
            findings.push(Finding::at(&source.path, 1, format!("the first line must be `{LICENCE}`")));
        }
        let first = lines.map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#!["));
        if !first.is_some_and(|line| line.starts_with("//!")) {
            findings.push(Finding::at(&source.path, 2, "module docs (`//!`) must follow the licence: what is it for?"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&Repo::of(&[("crates/x/src/lib.rs", text)])).len()
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(findings("// SPDX-License-Identifier: Apache-2.0\n\n//! For.\n"), 0);
        assert_eq!(findings("// SPDX-License-Identifier: Apache-2.0\n#![no_std]\n//! For.\n"), 0);
    }

    #[test]
    fn missing_parts_are_found() {
        assert_eq!(findings(""), 2);
        assert_eq!(findings("//! For.\n"), 2);
        assert_eq!(findings("// SPDX-License-Identifier: Apache-2.0\n\nuse a;\n//! For.\n"), 1);
    }
}
