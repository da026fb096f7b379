// SPDX-License-Identifier: Apache-2.0

//! A crate is a room with one purpose, and arrows point down only (ARCHITECTURE.md, "Rooms"). Tests of a crate may also
//! use crates beside it, such as the services that a client talks to, but none that stands on it.

mod table;

use crate::{Finding, manifest::dependencies, repo::Repo, rules::purity::PURE};
use table::MAY_USE;

/// All that a pure crate may take from others: data layouts, codecs, arithmetic; no I/O, clock, threads or entropy.
const PURE_MAY_USE: &[&str] = &["bytes", "crc-fast", "maud", "minicbor", "serde", "siphasher", "thiserror", "zerocopy"];

/// Libraries that belong to one room.
const HOMES: &[(&str, &[&str])] = &[
    ("heed", &["nyala-store"]),
    ("openraft", &["nyala-mgmt"]),
    ("io-uring", &["nyala-ring"]),
    ("snow", &["nyala-transport"]),
    ("crc-fast", &["nyala-wire"]),
    ("anyhow", &["nyala"]),
    ("clap", &["nyala"]),
    ("maud", &["nyala-bench", "nyala-web"]),
    ("ratatui", &["nyala-top"]),
];

/// Every arrow between crates is one that the table allows.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, manifest) in repo.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            findings.push(Finding::file(
                &path,
                "no layer is known for this crate: add it to layering/table.rs and ARCHITECTURE.md",
            ));
            continue;
        };
        match toml::from_str::<toml::Table>(manifest) {
            Ok(manifest) => check_crate(name, allowed, &path, &manifest, &mut findings),
            Err(error) => findings.push(Finding::file(&path, error.to_string())),
        }
    }
    if findings.is_empty() && repo.crates().next().is_none() {
        findings.push(Finding::file("crates", "no crate was found"));
    }
    findings
}

fn check_crate(name: &str, allowed: &[&str], path: &str, manifest: &toml::Table, findings: &mut Vec<Finding>) {
    for dependency in dependencies(manifest, &["dependencies", "build-dependencies"]) {
        if dependency.starts_with("nyala") && !allowed.contains(&dependency.as_str()) {
            findings.push(Finding::file(path, format!("{name} may not use {dependency}: arrows point down only")));
        }
        if PURE.contains(&name) && !dependency.starts_with("nyala") && !PURE_MAY_USE.contains(&dependency.as_str()) {
            findings.push(Finding::file(path, format!("{name} is pure and may not use {dependency}")));
        }
        if let Some((_, homes)) = HOMES.iter().find(|(library, _)| *library == dependency)
            && !homes.contains(&name)
        {
            findings.push(Finding::file(path, format!("{dependency} is used by {} only", homes.join(", "))));
        }
    }
    for dependency in dependencies(manifest, &["dev-dependencies"]) {
        if dependency != name && uses(&dependency, name) {
            findings.push(Finding::file(path, format!("tests of {name} may not use {dependency}, which stands on it")));
        }
    }
}

/// Whether the table lets `upper` use `lower`, directly or through others.
fn uses(upper: &str, lower: &str) -> bool {
    let allowed = MAY_USE.iter().find(|(name, _)| *name == upper).map_or(&[][..], |(_, allowed)| allowed);
    allowed.iter().any(|below| *below == lower || uses(below, lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, manifest: &str) -> Vec<String> {
        let path = format!("crates/{name}/Cargo.toml");
        check(&Repo::of(&[(&path, manifest)])).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn arrows_down_pass() {
        let manifest =
            "[dependencies]\nnyala-wire.workspace = true\ntokio.workspace = true\n[dev-dependencies]\ntempfile = \"3\"";
        assert!(findings("nyala-transport", manifest).is_empty());
    }

    #[test]
    fn arrows_up_are_found_wherever_they_hide() {
        for table in ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let got = findings("nyala-store", &format!("[{table}]\nnyala-meta.workspace = true"));
            assert_eq!(got.len(), 1, "{table}");
        }
        let renamed = "[dependencies]\nm = { package = \"nyala-meta\", path = \"../nyala-meta\" }";
        assert_eq!(findings("nyala-store", renamed).len(), 1);
    }

    #[test]
    fn tests_may_use_what_does_not_stand_on_the_crate() {
        assert!(findings("nyala-client", "[dev-dependencies]\nnyala-meta.workspace = true").is_empty());
        assert_eq!(findings("nyala-wire", "[dev-dependencies]\nnyala-fuse.workspace = true").len(), 1);
    }

    #[test]
    fn pure_crates_and_homes_are_guarded() {
        for library in ["tokio", "libc", "rustix", "getrandom", "rand"] {
            assert_eq!(findings("nyala-cluster", &format!("[dependencies]\n{library} = \"1\"")).len(), 1, "{library}");
        }
        assert_eq!(findings("nyala-meta", "[dependencies]\nheed = \"1\"").len(), 1);
        assert!(findings("nyala-store", "[dependencies]\nheed = \"1\"").is_empty());
    }

    #[test]
    fn unknown_crates_and_none_at_all_are_found() {
        assert_eq!(findings("nyala-new", "").len(), 1);
        assert_eq!(check(&Repo::default()).len(), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, allowed)) in MAY_USE.iter().enumerate() {
            for below in *allowed {
                let place = MAY_USE.iter().position(|(known, _)| known == below);
                assert!(place.is_some_and(|place| place < index), "{name} uses {below}, which must stand above it");
            }
        }
    }
}
