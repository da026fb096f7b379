// SPDX-License-Identifier: Apache-2.0

//! The paths that a file's code names.
//!
//! Read from text: `use` items, with their braces, renames and re-exports, and paths that begin with `crate`, `super`, `self` or
//! a module that the file declares.

use crate::items;
use crate::source::Source;
use std::collections::BTreeSet;

/// The names of a path, such as `crate`, `a`, `B`.
pub type ModulePath = Vec<String>;

/// All paths in the code that ships, one for each name of a list.
pub fn all(source: &Source) -> Vec<ModulePath> {
    let mut paths = uses(source, false);
    let children = items::whole_words(&source.code, "mod").filter_map(|at| declared(&source.code[at + 3..]));
    let roots: BTreeSet<&str> = ["crate", "super", "self"].into_iter().chain(children).collect();
    for root in roots {
        for at in items::whole_words(&source.code, root).filter(|at| !source.is_test_at(*at)) {
            let begins = !source.code[..at].trim_end().ends_with("::");
            if begins && source.code[at + root.len()..].starts_with("::") {
                paths.extend(path_at(&source.code[at..]));
            }
        }
    }
    paths
}

/// The name in `mod NAME;`, after the first word.
fn declared(rest: &str) -> Option<&str> {
    let (name, _) = rest.split_once(';')?;
    let name = name.trim();
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then_some(name)
}

/// The path that a text begins with; `None` if a list or a glob follows, which `use` items have.
fn path_at(text: &str) -> Option<ModulePath> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let path = &text[..end];
    (!path.ends_with("::")).then(|| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// What a file re-exports, as full paths with the new name last.
pub fn exported(source: &Source) -> Vec<ModulePath> {
    uses(source, true)
}

/// Paths of `use` items; `exported`: of those that others can see.
fn uses(source: &Source, exported: bool) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    for at in items::whole_words(&source.code, "use").filter(|at| !source.is_test_at(*at)) {
        let before = source.code[..at].trim_end();
        let public = before.ends_with("pub")
            || (before.ends_with(')')
                && before.rsplit("pub").next().is_some_and(|tail| tail.starts_with('(') && !tail.contains('\n')));
        if exported && !public {
            continue;
        }
        let Some(end) = source.code[at..].find(';') else { continue };
        expand(source.code[at + 3..at + end].trim(), &mut Vec::new(), &mut paths);
    }
    paths
}

/// `a::{b, c::D as E}` to `a::b` and `a::c::D`.
fn expand(tree: &str, prefix: &mut ModulePath, paths: &mut Vec<ModulePath>) {
    let (head, list) = match tree.find('{') {
        Some(open) => (&tree[..open], tree[open + 1..].strip_suffix('}')),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let before = prefix.len();
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty() && *name != "*");
    prefix.extend(names.map(str::to_owned));
    match list {
        Some(list) => split_list(list).for_each(|part| expand(part, prefix, paths)),
        None => {
            let mut path = prefix.clone();
            // `a::{self}` is `a`.
            if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                path.pop();
            }
            paths.push(path);
        }
    }
    prefix.truncate(before);
}

/// The parts of a list, at commas outside braces.
fn split_list(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = list.split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(paths: Vec<ModulePath>) -> Vec<String> {
        paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn lists_renames_and_globs_are_taken_apart() {
        let source = Source::new("crates/x/src/a.rs", "use crate::a::{self, b::{C as D, E}, f::*};\nuse std::fmt;\n");
        let paths = joined(all(&source));
        assert_eq!(paths, ["crate::a", "crate::a::b::C", "crate::a::b::E", "crate::a::f", "std::fmt"]);
        assert!(exported(&source).is_empty());
    }

    #[test]
    fn only_what_others_can_see_is_exported() {
        let text = "pub use a::A;\npub(crate) use b::B;\nuse c::C;\n#[cfg(test)]\npub use d::D;\n";
        assert_eq!(joined(exported(&Source::new("crates/x/src/lib.rs", text))), ["a::A", "b::B"]);
    }

    #[test]
    fn paths_within_code_begin_at_a_root() {
        let text =
            "mod child;\nfn f() { child::g(); crate::x::Y::new(); other::crate_::z(); a.child; std::child::q() }\n";
        let paths = joined(all(&Source::new("crates/x/src/lib.rs", text)));
        assert_eq!(paths, ["child::g", "crate::x::Y::new"]);
    }
}
