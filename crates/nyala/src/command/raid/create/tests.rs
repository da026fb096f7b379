// SPDX-License-Identifier: Apache-2.0

//! Sets that are made, and warnings.

use super::*;
use crate::exit::Exit;
use std::path::PathBuf;

#[test]
fn a_set_is_made_of_empty_directories_when_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let drives: Vec<PathBuf> = (0..4).map(|at| dir.path().join(format!("d{at}"))).collect();
    let names: Vec<String> = drives.iter().map(|drive| drive.display().to_string()).collect();
    let shape = SetShape { level: Some("6".into()), ..SetShape::default() };
    let args = |drives: &[String], yes| RaidCreateArgs {
        drives: drives.to_vec(),
        shape: shape.clone(),
        yes,
        ..RaidCreateArgs::default()
    };
    let create = |yes| run(args(&names, yes), Output::Json);
    assert!(create(true).unwrap_err().message.contains("mount its drive"));
    drives.iter().for_each(|drive| std::fs::create_dir(drive).unwrap());
    assert_eq!(create(false), Ok(Exit::Ok));
    assert!(std::fs::read_dir(&drives[0]).unwrap().next().is_none(), "nothing was changed");
    assert_eq!(create(true), Ok(Exit::Ok));
    assert!(drives.iter().all(|drive| drive.join("target/target.toml").exists()));
    assert!(create(true).unwrap_err().message.contains("not empty"));
    assert_eq!(run(args(&names[..3], true), Output::Json).unwrap_err().exit, Exit::Usage);
}

#[test]
fn a_host_with_too_many_drives_is_warned_of() {
    let drives = |hosts: &[&str]| hosts.iter().map(|host| host.parse().unwrap()).collect::<Vec<DriveLocation>>();
    let spread = drives(&["/a", "net://h1:1/a", "net://h1:1/b", "net://h2:1/a", "net://h2:2/b", "net://h3:1/a"]);
    assert_eq!(warning(&spread, 2, 1), None);
    assert!(warning(&spread, 1, 1).is_some_and(|text| text.contains("h2 has 2")));
    assert_eq!(warning(&drives(&["/a", "/b", "/c"]), 1, 1), None, "all on this host: that is meant so");
}
