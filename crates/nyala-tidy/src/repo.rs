// SPDX-License-Identifier: Apache-2.0

//! The texts that rules look at: all Rust files, manifests and Markdown pages of the working tree.
//!
//! **Failure model.** Other programs may write in the tree while it is read. A directory entry that vanished in between
//! is skipped; anything else that cannot be read is an error that names the path.

use crate::items;
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// The repository's texts, by path from its root.
#[derive(Clone, Debug, Default)]
pub struct Repo {
    /// Rust files.
    pub sources: Vec<Source>,
    /// `Cargo.toml` files, by path.
    pub manifests: BTreeMap<String, String>,
    /// Markdown pages, by path.
    pub pages: BTreeMap<String, String>,
    /// The settings of the book of `docs/`.
    pub book: Option<String>,
    /// Every file and directory, to check links.
    pub paths: BTreeSet<String>,
}

impl Repo {
    /// Reads a working tree, without `target` and hidden directories (other than `.ci`).
    pub fn read(root: &Path) -> Result<Repo> {
        let mut repo = Repo::default();
        repo.walk(root, "")?;
        repo.mark_test_modules();
        Ok(repo)
    }

    /// A repository of these texts, for tests of rules.
    pub fn of(texts: &[(&str, &str)]) -> Repo {
        let mut repo = Repo::default();
        texts.iter().for_each(|(path, text)| repo.add(path, text));
        repo.mark_test_modules();
        repo
    }

    /// The product's crates, by directory name.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &str)> {
        self.manifests.iter().filter_map(|(path, text)| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some((name, text.as_str()))
        })
    }

    fn add(&mut self, path: &str, text: &str) {
        self.paths.insert(path.to_owned());
        if path.ends_with(".rs") {
            self.sources.push(Source::new(path, text));
        } else if path.ends_with("Cargo.toml") {
            self.manifests.insert(path.to_owned(), text.to_owned());
        } else if path.ends_with(".md") {
            self.pages.insert(path.to_owned(), text.to_owned());
        } else if path == "docs/book.toml" {
            self.book = Some(text.to_owned());
        }
    }

    fn walk(&mut self, root: &Path, under: &str) -> Result<()> {
        let mut entries = std::fs::read_dir(root.join(under))?.collect::<Result<Vec<_>>>()?;
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "target" || (name.starts_with('.') && name != ".ci") {
                continue;
            }
            let path = if under.is_empty() { name } else { format!("{under}/{name}") };
            if entry.file_type()?.is_dir() {
                self.paths.insert(path.clone());
                self.walk(root, &path)?;
            } else if [".rs", ".md", "Cargo.toml", "docs/book.toml"].iter().any(|end| path.ends_with(end)) {
                self.read_file(root, &path)?;
            } else {
                self.paths.insert(path);
            }
        }
        Ok(())
    }

    fn read_file(&mut self, root: &Path, path: &str) -> Result<()> {
        match std::fs::read_to_string(root.join(path)) {
            Ok(text) => self.add(path, &text),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::new(error.kind(), format!("{path}: {error}"))),
        }
        Ok(())
    }

    /// A file is only for tests when the module that declares it, or that one's, is.
    fn mark_test_modules(&mut self) {
        let mut prefixes = Vec::new();
        for source in &self.sources {
            let dir = module_dir(&source.path);
            for name in items::test_modules(&source.text, &source.code) {
                prefixes.push((format!("{dir}/{name}.rs"), format!("{dir}/{name}/")));
            }
        }
        for source in &mut self.sources {
            source.is_test |= prefixes.iter().any(|(file, dir)| source.path == *file || source.path.starts_with(dir));
        }
    }
}

/// The directory in which a module's children are.
pub fn module_dir(path: &str) -> &str {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => dir,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_test_modules_are_tests() {
        let repo = Repo::of(&[
            ("crates/x/src/lib.rs", "#[cfg(test)]\nmod fuzz;\nmod real;\n"),
            ("crates/x/src/fuzz.rs", ""),
            ("crates/x/src/fuzz/deep.rs", ""),
            ("crates/x/src/real.rs", "#[cfg(test)] mod checks;"),
            ("crates/x/src/real/checks.rs", ""),
        ]);
        let tests: Vec<&str> = repo.sources.iter().filter(|s| s.is_test).map(|s| s.path.as_str()).collect();
        assert_eq!(tests, ["crates/x/src/fuzz.rs", "crates/x/src/fuzz/deep.rs", "crates/x/src/real/checks.rs"]);
    }

    #[test]
    fn a_tree_is_read_without_target_and_what_is_not_utf8_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("target")).unwrap();
        std::fs::create_dir_all(dir.path().join("crates/x/src")).unwrap();
        std::fs::write(dir.path().join("target/a.rs"), "").unwrap();
        std::fs::write(dir.path().join("crates/x/src/lib.rs"), "").unwrap();
        let repo = Repo::read(dir.path()).unwrap();
        assert_eq!(repo.sources.len(), 1);
        std::fs::write(dir.path().join("crates/x/src/b.rs"), [0xff]).unwrap();
        assert!(Repo::read(dir.path()).unwrap_err().to_string().contains("b.rs"));
    }
}
