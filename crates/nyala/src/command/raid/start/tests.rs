// SPDX-License-Identifier: Apache-2.0

//! Half a mirror, and a set that needs no help.

use super::*;
use crate::exit::Exit;
use nyala_storage::drive_set::{make, open};
use std::path::PathBuf;

fn set(level: &str, drives: usize) -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let drives: Vec<PathBuf> = (0..drives).map(|at| dir.path().join(format!("d{at}"))).collect();
    drives.iter().for_each(|drive| std::fs::create_dir(drive).unwrap());
    let names: Vec<String> = drives.iter().map(|drive| drive.display().to_string()).collect();
    let shape = SetShape { level: Some(level.into()), ..SetShape::default() };
    make(&shape.spec(&names, &[]).unwrap(), None).unwrap();
    (dir, names)
}

fn start_with(drives: &[String], yes: bool) -> Outcome {
    run(RaidStartArgs { drives: drives.to_vec(), far: FarArgs::default(), yes }, Output::Json)
}

fn opens(drives: &[String]) -> Result<Vec<usize>, String> {
    let spec = SetShape::default().spec(drives, &[]).unwrap();
    let opened = open(&spec, None).map_err(|error| error.to_string())?;
    let missing = opened.set.members().into_iter().enumerate().filter(|(_, member)| !member.is_held);
    Ok(missing.map(|(number, _)| number).collect())
}

#[test]
fn half_a_mirror_starts_when_an_operator_says_so() {
    let (_dir, names) = set("1", 2);
    std::fs::remove_dir_all(&names[0]).unwrap();
    assert_eq!(start_with(&names, false), Ok(Exit::Ok));
    let refused = opens(&names).unwrap_err();
    assert!(refused.contains("never come back, say so with nyala raid start"), "{refused}");
    assert_eq!(start_with(&names, true), Ok(Exit::Ok));
    assert_eq!(opens(&names), Ok(vec![0]));
    assert_eq!(start_with(&names, true), Ok(Exit::Ok), "it starts by itself now");
}

#[test]
fn what_needs_no_help_or_cannot_be_helped_is_left_alone() {
    let (_dir, names) = set("6", 5);
    assert_eq!(opens(&names), Ok(vec![]));
    std::fs::remove_dir_all(&names[1]).unwrap();
    let done = start(&SetShape::default().spec(&names, &[]).unwrap(), None, true).unwrap();
    assert_eq!((done.refused, done.without), (None, vec![1]), "two may be lost");
    names[2..4].iter().for_each(|name| std::fs::remove_dir_all(name).unwrap());
    let too_few = start_with(&names, true).unwrap_err().message;
    assert!(too_few.contains("only 2 of the 3 up-to-date members"), "{too_few}");
    assert!(start_with(&names[1..2], true).unwrap_err().message.contains("no"), "nothing is there");
}
