// SPDX-License-Identifier: Apache-2.0

//! Every crate takes the workspace's lints; one that does not is checked by nobody.

use crate::Finding;
use crate::repo::Repo;

/// Each crate's manifest has `[lints] workspace = true`.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let lacking = repo.crates().filter(|(_, manifest)| {
        let manifest = toml::from_str::<toml::Table>(manifest).unwrap_or_default();
        let workspace = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        workspace.and_then(toml::Value::as_bool) != Some(true)
    });
    let message = "needs `[lints]` with `workspace = true`";
    lacking.map(|(name, _)| Finding::file(&format!("crates/{name}/Cargo.toml"), message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(manifest: &str) -> usize {
        check(&Repo::of(&[("crates/nyala-x/Cargo.toml", manifest)])).len()
    }

    #[test]
    fn the_table_is_asked_for() {
        assert_eq!(findings("[lints]\nworkspace = true\n"), 0);
        for bad in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nmissing_docs = \"warn\"\n", "not toml"] {
            assert_eq!(findings(bad), 1, "{bad}");
        }
    }
}
