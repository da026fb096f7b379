// SPDX-License-Identifier: Apache-2.0

//! Files of a pure crate do not use each other in circles: what a file needs is below it, and it can be read alone.
//!
//! Other crates have a count that only goes down ([`crate::ratchet`]).

use crate::Finding;
use crate::imports::{self, Imports};
use crate::repo::Repo;
use std::collections::BTreeSet;

/// Crates without circles, for good.
const WITHOUT: &[&str] = &[
    "nyala-client",
    "nyala-cluster",
    "nyala-fsck",
    "nyala-plan",
    "nyala-tune",
    "nyala-web",
    "nyala-kv",
    "nyala-metrics",
    "nyala-namespace",
    "nyala-parity",
    "nyala-raid",
    "nyala-replica",
    "nyala-ring",
    "nyala-tidy",
    "nyala-wire",
];

/// The circles of files in one crate.
pub fn of_crate<'a>(repo: &'a Repo, name: &str) -> Vec<BTreeSet<&'a str>> {
    let sources = repo.sources.iter().filter(|source| source.crate_name() == Some(name));
    imports::circles(&Imports::of(sources).arrows())
}

/// No circle in the crates that have none.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let circles = WITHOUT.iter().flat_map(|name| of_crate(repo, name));
    let finding = |circle: BTreeSet<&str>| {
        let files: Vec<&str> = circle.into_iter().collect();
        Finding::file(files[0], format!("these files use each other in a circle: {}", files.join(", ")))
    };
    circles.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_where_there_must_be_none() {
        let files = |name: &str| {
            let path = |file: &str| format!("crates/{name}/src/{file}.rs");
            let texts =
                [(path("lib"), "mod a;\nmod b;\n"), (path("a"), "use crate::b;\n"), (path("b"), "use crate::a;\n")];
            let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            check(&Repo::of(&texts)).len()
        };
        assert_eq!(files("nyala-ring"), 1);
        assert_eq!(files("nyala-fuse"), 0, "the ratchet has those");
    }
}
