// SPDX-License-Identifier: Apache-2.0

//! Counts that may only go down: files and functions that are longer than they aim to be, files of a crate that use each
//! other in circles, further files with methods of one type, and sleeps of tests that give no reason.

use crate::items;
use crate::repo::Repo;
use crate::rules::{circles, sleeps};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of product code that a file aims at.
pub const FILE_AIM: usize = 150;
/// Lines that a function aims at.
pub const FUNCTION_AIM: usize = 50;

/// What a comparison of counts says.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Counts that grew: the tree is refused.
    pub grown: Vec<String>,
    /// Counts that shrank: the file should be lowered.
    pub shrunk: Vec<String>,
}

/// Counts of this tree.
pub fn count(repo: &Repo) -> BTreeMap<String, i64> {
    let product = || repo.sources.iter().filter(|source| !source.is_test);
    let files = product().filter(|source| source.product_lines() > FILE_AIM).count();
    let functions = product().flat_map(|source| source.functions().into_iter().map(move |function| (source, function)));
    let long = |text: &str| text.lines().count() > FUNCTION_AIM;
    let functions = functions.filter(|(source, function)| {
        !source.is_test_at(function.start) && long(&source.code[function.start..function.end])
    });
    let circles = repo.crates().flat_map(|(name, _)| circles::of_crate(repo, name));
    let counts = [
        ("files_in_circles", circles.map(|circle| circle.len()).sum()),
        ("files_of_methods_beyond_the_first", further_files_of_methods(repo)),
        ("files_over_150_lines", files),
        ("functions_over_50_lines", functions.count()),
        ("sleeps_in_tests_without_a_reason", sleeps::check(repo).len()),
    ];
    counts.into_iter().map(|(name, n)| (name.to_owned(), i64::try_from(n).unwrap_or(i64::MAX))).collect()
}

/// A type whose methods stand in several files is read in all of them: the files beyond each type's first.
fn further_files_of_methods(repo: &Repo) -> usize {
    let mut files: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    for source in repo.sources.iter().filter(|source| !source.is_test) {
        let types: BTreeSet<&str> = items::inherent_impls(&source.code).into_iter().collect();
        types.into_iter().for_each(|name| *files.entry((source.crate_name(), name)).or_default() += 1);
    }
    files.into_values().map(|files| files - 1).sum()
}

/// Compares counts with those of `ratchet.toml`; a count that the file does not have counts as 0 there.
pub fn compare(now: &BTreeMap<String, i64>, file: &str) -> Result<Verdict, toml::de::Error> {
    let before: BTreeMap<String, i64> = toml::from_str(file)?;
    let mut verdict = Verdict { grown: Vec::new(), shrunk: Vec::new() };
    for (name, &now) in now {
        let before = before.get(name).copied().unwrap_or(0);
        match now.cmp(&before) {
            std::cmp::Ordering::Greater => verdict.grown.push(format!("{name} grew from {before} to {now}")),
            std::cmp::Ordering::Less => verdict.shrunk.push(format!("{name} went from {before} down to {now}")),
            std::cmp::Ordering::Equal => {}
        }
    }
    Ok(verdict)
}

/// The file's text for these counts.
pub fn render(counts: &BTreeMap<String, i64>) -> String {
    let head = "# SPDX-License-Identifier: Apache-2.0\n# Counts that may only go down; lowered by\n\
                # UPDATE_RATCHET=1 cargo test --release -p nyala-tidy ratchet\n";
    counts.iter().fold(head.to_owned(), |text, (name, n)| format!("{text}{name} = {n}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(lines: usize) -> Repo {
        Repo::of(&[
            ("crates/x/src/lib.rs", &format!("fn f() {{\n{}}}\n", "a();\n".repeat(lines))),
            ("crates/x/tests/t.rs", &"\n".repeat(1000)),
        ])
    }

    #[test]
    fn product_files_and_functions_are_counted() {
        let counts = |lines| count(&repo(lines)).into_values().collect::<Vec<_>>();
        assert_eq!(counts(48), [0, 0, 0, 0, 0]);
        assert_eq!(counts(49), [0, 0, 0, 1, 0]);
        assert_eq!(counts(149), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn methods_of_a_type_in_further_files_are_counted() {
        let repo = Repo::of(&[
            ("crates/x/src/a.rs", "impl T {\n}\nimpl T {\n}\n"),
            ("crates/x/src/b.rs", "impl T {\n}\nimpl U {\n}\n"),
            ("crates/y/src/b.rs", "impl T {\n}\n"),
        ]);
        assert_eq!(further_files_of_methods(&repo), 1);
    }

    #[test]
    fn growth_is_refused_and_shrinking_is_told() {
        let now = count(&repo(200));
        let same = compare(&now, &render(&now)).unwrap();
        assert_eq!(same, Verdict { grown: vec![], shrunk: vec![] });
        assert_eq!(compare(&now, "").unwrap().grown.len(), 2);
        assert_eq!(compare(&count(&repo(1)), &render(&now)).unwrap().shrunk.len(), 2);
        assert!(compare(&now, "not toml").is_err());
    }
}
