// SPDX-License-Identifier: Apache-2.0

//! Which file of a crate uses which other file of it.
//!
//! Code for tests does not count. What a file re-exports counts for the file that has it.

use crate::source::Source;
use crate::use_paths::{self, ModulePath};
use std::collections::{BTreeMap, BTreeSet};

/// Files of one crate, by module.
pub struct Imports<'a> {
    modules: BTreeMap<ModulePath, &'a Source>,
}

impl<'a> Imports<'a> {
    /// Of the product files of one crate.
    pub fn of(sources: impl Iterator<Item = &'a Source>) -> Imports<'a> {
        let product = sources.filter(|source| !source.is_test);
        Imports { modules: product.filter_map(|source| Some((module_of(&source.path)?, source))).collect() }
    }

    /// Each file, and the files that it uses.
    pub fn arrows(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let arrows = self.modules.iter().map(|(module, source)| {
            let used = use_paths::all(source).into_iter().filter_map(|path| self.resolve(module, &path, 0));
            let used = used.map(|source| source.path.as_str()).filter(|path| *path != source.path);
            (source.path.as_str(), used.collect())
        });
        arrows.collect()
    }

    /// The file that a path written in `module` leads to; `None`: out of this crate.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<&'a Source> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.to_vec(), &path[1..]),
            "super" => (module[..module.len().checked_sub(1)?].to_vec(), &path[1..]),
            name => {
                let child = [module, &[name.to_owned()]].concat();
                self.modules.contains_key(&child).then_some((child, &path[1..]))?
            }
        };
        while rest.first().is_some_and(|name| name == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        while let Some(name) = rest.first() {
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            if !self.modules.contains_key(&child) {
                break;
            }
            (at, rest) = (child, &rest[1..]);
        }
        let source = *self.modules.get(&at)?;
        // Re-exports of re-exports end somewhere; two that name each other would not compile.
        let exported = rest.first().filter(|_| depth < 8).and_then(|name| {
            let original = use_paths::exported(source).into_iter().find(|export| export.last() == Some(name))?;
            self.resolve(&at, &original, depth + 1)
        });
        Some(exported.unwrap_or(source))
    }
}

/// Files that use each other, directly or through others: the strongly connected parts of more than one file.
pub fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&'a str>> = arrows.keys().map(|file| (*file, reachable(arrows, file))).collect();
    let mut circles: Vec<BTreeSet<&'a str>> = Vec::new();
    for file in arrows.keys() {
        if circles.iter().any(|circle| circle.contains(file)) {
            continue;
        }
        let back = |other: &&&'a str| reach.get(**other).is_some_and(|reached| reached.contains(file));
        let circle: BTreeSet<&'a str> = reach[file].iter().filter(back).copied().collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

fn reachable<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(file) = todo.pop() {
        for next in arrows.get(file).into_iter().flatten() {
            if seen.insert(*next) {
                todo.push(next);
            }
        }
    }
    seen
}

/// The module that a file is: `crates/x/src/a/b.rs` is `a::b`. Programs of their own (`src/bin`) are none.
fn module_of(path: &str) -> Option<ModulePath> {
    let inside = path.split_once("/src/")?.1.strip_suffix(".rs")?;
    let mut module: ModulePath = inside.split('/').map(str::to_owned).collect();
    if module.first().is_some_and(|first| first == "bin") {
        return None;
    }
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Repo;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let repo = Repo::of(files);
        let arrows = Imports::of(repo.sources.iter()).arrows();
        circles(&arrows).into_iter().map(|circle| circle.into_iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let a = ("crates/x/src/a.rs", "use crate::b::{self, B};\nfn f() {}\n");
        let b = ("crates/x/src/b.rs", "pub struct B;\nfn f() { crate::a::f() }\n");
        let lib = ("crates/x/src/lib.rs", "mod a;\nmod b;\n");
        assert_eq!(found(&[lib, a, b]), [["crates/x/src/a.rs", "crates/x/src/b.rs"]]);
        assert!(found(&[lib, a, ("crates/x/src/b.rs", "pub struct B;\n")]).is_empty());
    }

    #[test]
    fn a_child_that_uses_what_its_parent_has_is_in_a_circle_with_it() {
        let parent = ("crates/x/src/p/mod.rs", "mod c;\npub struct S;\nfn f() { c::g() }\n");
        let child = ("crates/x/src/p/c.rs", "use super::S;\npub fn g() {}\n");
        assert_eq!(found(&[parent, child]).len(), 1);
        let alone = ("crates/x/src/p/c.rs", "pub fn g() {}\n");
        assert!(found(&[parent, alone]).is_empty(), "declaring and calling a child is no circle");
    }

    #[test]
    fn what_is_re_exported_counts_for_the_file_that_has_it() {
        let lib = ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
        let a = ("crates/x/src/a.rs", "pub struct A;\n");
        let b = ("crates/x/src/b.rs", "use crate::A;\npub struct B(A);\n");
        assert!(found(&[lib, a, b]).is_empty());
        assert_eq!(found(&[lib, ("crates/x/src/a.rs", "use crate::B;\npub struct A(B);\n"), b]).len(), 1);
    }

    #[test]
    fn tests_prose_and_other_crates_do_not_count() {
        let lib = ("crates/x/src/lib.rs", "mod a;\nmod b;\n");
        let a = ("crates/x/src/a.rs", "// crate::b\n#[cfg(test)]\nmod tests { use crate::b::B; }\npub fn f() {}\n");
        let b = ("crates/x/src/b.rs", "use crate::a::f;\nuse other::a::g;\npub struct B;\n");
        assert!(found(&[lib, a, b]).is_empty());
    }

    #[test]
    fn long_circles_and_separate_ones_are_told_apart() {
        let lib = ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\n");
        let files = [
            lib,
            ("crates/x/src/a.rs", "use crate::b;\n"),
            ("crates/x/src/b.rs", "use super::c::C as D;\n"),
            ("crates/x/src/c.rs", "use crate::{a, d::E};\n"),
            ("crates/x/src/d.rs", "use crate::e::F;\n"),
            ("crates/x/src/e.rs", "use crate::d::G;\n"),
        ];
        let sizes: Vec<usize> = found(&files).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 2]);
    }
}
