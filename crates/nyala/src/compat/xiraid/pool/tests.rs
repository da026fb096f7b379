// SPDX-License-Identifier: Apache-2.0

//! Pools of directories, and of sets that nobody can tell.

use super::super::options::tests::read;
use super::super::pool_table::shown;
use super::*;

#[test]
fn pools_are_made_changed_shown_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pools.toml");
    let drive = |name: &str| {
        let drive = dir.path().join(name);
        std::fs::create_dir_all(&drive).unwrap();
        drive.display().to_string()
    };
    let (a, b, c) = (drive("a"), drive("b"), drive("c"));
    let said = |words: &str, line: &str| with(&words.split(' ').collect::<Vec<_>>(), &read(line), &file);
    assert_eq!(said("create", &format!("-n p1 -d {a} {b}")), Ok(Exit::Ok));
    assert_eq!(said("add", &format!("-n p1 -d {c} net://h:8004/d")), Ok(Exit::Ok));
    assert_eq!(said("remove", &format!("-n p1 -d {b}")), Ok(Exit::Ok));
    std::fs::write(dir.path().join("c/claim"), "somebody").unwrap();
    std::fs::remove_dir(&a).unwrap();
    let pools = Pools::load(&file).unwrap();
    let text = shown(&pools);
    for line in [format!("║ p1   ║ {a}"), "offline ║ -".into(), "║ taken ".into(), "║ net://h:8004/d".into()]
    {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    for (words, line, word) in [
        ("create", format!("-n p1 -d {b}"), "already"),
        ("create", format!("-n p2 -d {c}"), "already"),
        ("create", format!("-n 1 -d {b}"), "-n 1"),
        ("add", format!("-n p2 -d {b}"), "no spare pool p2"),
        ("remove", format!("-n p1 -d {b}"), "not in the spare pool"),
        ("remove", "-n p1".into(), "--drives"),
        ("activate", "-n p1".into(), "raid modify"),
        ("show", "-f json".into(), "table"),
        ("show", "-n p2".into(), "no spare pool p2"),
    ] {
        assert!(said(words, &line).unwrap_err().message.contains(word), "{words} {line}");
    }
    assert_eq!(said("show", "-n p1"), Ok(Exit::Ok));
    std::fs::write(dir.path().join("b/letter"), "dear").unwrap();
    assert!(said("create", &format!("-n p2 -d {b}")).unwrap_err().message.contains("empty directory"));
    assert_eq!(said("delete", "-n p1"), Ok(Exit::Ok));
    assert_eq!(Pools::load(&file), Ok(Pools::default()));
}

#[test]
fn a_set_that_cannot_be_told_is_said_and_the_pool_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pools.toml");
    let mut pools = Pools { pool: vec![Pool { name: "p1".into(), drives: vec!["net://h:1/d".into()], sets: vec![] }] };
    pools.give("no-such-set", Some("p1")).unwrap();
    pools.save(&file).unwrap();
    assert_eq!(with(&["delete"], &read("-n p1"), &file), Ok(Exit::Failed));
    assert_eq!(Pools::load(&file), Ok(Pools::default()));
}
