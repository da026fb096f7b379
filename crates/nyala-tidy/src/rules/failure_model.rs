// SPDX-License-Identifier: Apache-2.0

//! A module that touches a disk or a network says what can go wrong there and what it does about that.

use crate::Finding;
use crate::items;
use crate::repo::Repo;
use crate::source::Source;

/// Where shells are.
const SHELLS: &[&str] = &[
    "crates/nyala-store/src/",
    "crates/nyala-storage/src/",
    "crates/nyala-drives/src/",
    "crates/nyala-netdrives/src/",
    "crates/nyala-transport/src/",
    "crates/nyala-meta/src/service/",
    "crates/nyala-client/src/",
    "crates/nyala-fuse/src/",
    "crates/nyala-ring/src/",
    "crates/nyala-scrape/src/",
    "crates/nyala-mgmt/src/",
    "crates/nyala-mon/src/",
    "crates/nyala-top/src/",
];

/// Each such module, or the one that declares it, has a failure model in its docs.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let shells = repo.sources.iter().filter(|source| SHELLS.iter().any(|shell| source.path.starts_with(shell)));
    let touching = shells.filter(|source| !source.is_test && touches(source));
    let lacking = touching.filter(|source| {
        let parents = parents(&source.path);
        let own = std::iter::once(*source);
        let above = repo.sources.iter().filter(|other| parents.contains(&other.path));
        !own.chain(above).any(|module| module.module_docs().to_lowercase().contains("failure model"))
    });
    let message = "touches disk or network: its module docs (or its parent's) need a **Failure model**";
    lacking.map(|source| Finding::at(&source.path, 2, message)).collect()
}

/// Whether code that ships names a file of the system or a connection.
fn touches(source: &Source) -> bool {
    let ships = |word: &str| items::whole_words(&source.code, word).any(|at| !source.is_test_at(at));
    let file = ships("File") && ships("fs");
    file || ships("TcpStream") || ships("pwrite") || ships("pwritev")
}

/// The files in which a module may be declared.
fn parents(path: &str) -> Vec<String> {
    let (mut dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name == "mod.rs" {
        dir = dir.rsplit_once('/').map_or("", |(above, _)| above);
    }
    let mut parents: Vec<String> = ["mod.rs", "lib.rs", "main.rs"].iter().map(|name| format!("{dir}/{name}")).collect();
    parents.push(format!("{dir}.rs"));
    parents
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use std::fs::File;\nfn f(file: &File) {}\n";

    fn findings(texts: &[(&str, &str)]) -> usize {
        check(&Repo::of(texts)).len()
    }

    #[test]
    fn a_module_without_one_is_found() {
        assert_eq!(findings(&[("crates/nyala-store/src/a.rs", CODE)]), 1);
        assert_eq!(findings(&[("crates/nyala-client/src/a.rs", "fn f(s: TcpStream) {}")]), 1);
        // Prose that is not module docs does not count.
        let text = format!("// failure model\n{CODE}");
        assert_eq!(findings(&[("crates/nyala-store/src/a.rs", &text)]), 1);
    }

    #[test]
    fn its_own_or_its_parents_passes() {
        let own = format!("//! **Failure model.** None.\n{CODE}");
        assert_eq!(findings(&[("crates/nyala-store/src/a.rs", &own)]), 0);
        let parent = ("crates/nyala-store/src/log/mod.rs", "//! Failure model: torn tails.\n");
        assert_eq!(findings(&[parent, ("crates/nyala-store/src/log/a.rs", CODE)]), 0);
    }

    #[test]
    fn what_touches_nothing_passes() {
        assert_eq!(findings(&[("crates/nyala-client/src/a.rs", "use crate::file::File;\n")]), 0);
        assert_eq!(findings(&[("crates/nyala-cluster/src/a.rs", CODE)]), 0);
        assert_eq!(findings(&[("crates/nyala-namespace/src/ns/a.rs", CODE)]), 0);
    }
}
