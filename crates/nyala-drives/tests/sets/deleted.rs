// SPDX-License-Identifier: Apache-2.0

//! A set in directories goes from its drives, whose file systems stay, and others take its place.

use crate::common::{SET, ids};
use crate::directories::{STRIP, content, empty_drives, open};
use nyala_drives::{Drive, DriveDeletion, NO_SET, SetError, create, is_empty, take_drive};
use nyala_raid::member::SetId;
use nyala_raid::{Geometry, Level, ObjectId};

const OBJECT: ObjectId = ObjectId(0xabc);

fn of(path: &std::path::Path) -> DriveDeletion {
    DriveDeletion::of(path).unwrap()
}

#[test]
fn a_set_goes_from_its_drives_and_another_one_is_made_of_them() {
    let drives = empty_drives(Level::Raid5, 3);
    let set = open(&drives, &[]).unwrap();
    set.write(OBJECT, 0, &content(1, 8 * STRIP)).unwrap();
    set.sync().unwrap();
    let used = DriveDeletion::of(&drives.paths[0]).err().unwrap();
    assert!(used.is_locked(), "{used}");
    drop(set);
    let letter = drives.paths[1].join("letter");
    std::fs::write(&letter, "dear").unwrap();
    let going: Vec<DriveDeletion> = drives.paths.iter().map(|path| of(path)).collect();
    assert!(going.iter().all(|drive| drive.set() == Some(SET) && drive.superblock().unwrap().members.len() == 3));
    assert!(Drive::open(&drives.paths[0], false).err().unwrap().is_locked(), "nobody uses it meanwhile");
    assert!(matches!(going[0].begin(SetId(9)), Err(SetError::Claimed { .. })), "it is not of that set");
    going.iter().for_each(|drive| drive.begin(SET).unwrap());
    // The process dies here: no drive is the set's any more.
    drop(going);
    for path in &drives.paths {
        assert!(matches!(Drive::open(path, false), Err(SetError::Deleted { .. })));
        assert!(!is_empty(path) && take_drive(path, SetId(9)).is_err(), "it is no empty directory yet");
    }
    for path in &drives.paths {
        assert_eq!(of(path).set(), Some(SET));
        of(path).begin(SET).unwrap();
        assert!(of(path).finish(SetId(9)).is_err());
        of(path).finish(SET).unwrap();
        if path != &drives.paths[1] {
            of(path).finish(SET).expect("it can be asked again");
        }
    }
    assert!(is_empty(&drives.paths[0]) && is_empty(&drives.paths[2]));
    assert_eq!(std::fs::read_to_string(&letter).unwrap(), "dear");
    assert_eq!(std::fs::read_dir(&drives.paths[1]).unwrap().count(), 1);
    std::fs::remove_file(&letter).unwrap();
    let opened: Vec<Drive> = drives.paths.iter().map(|path| Drive::open(path, true).unwrap()).collect();
    create(&opened, Geometry::new(Level::Raid5, 3, STRIP).unwrap(), SetId(77), &ids(3)).unwrap();
    drop(opened);
    let set = open(&drives, &[]).unwrap();
    assert!(set.read(OBJECT, 0..100).unwrap() == [0; 100]);
}

#[test]
fn what_was_begun_for_a_set_and_never_finished_goes_too_and_other_things_do_not() {
    let root = tempfile::tempdir().unwrap();
    let dir = |name: &str| {
        let dir = root.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        dir
    };
    let (claimed, made, objects) = (dir("claimed"), dir("made"), dir("objects"));
    drop(take_drive(&claimed, SetId(5)).unwrap());
    drop(Drive::open(&made, true).unwrap());
    std::fs::create_dir(objects.join("objects")).unwrap();
    for (path, set) in [(&claimed, SetId(5)), (&made, NO_SET), (&objects, NO_SET)] {
        let going = of(path);
        assert_eq!(going.set(), Some(set), "{}", path.display());
        assert!(going.superblock().is_none() && going.target().is_empty());
        assert!(going.begin(SetId(6)).is_err());
        going.begin(set).unwrap();
        going.finish(set).unwrap();
        assert!(is_empty(path), "{}", path.display());
    }
    let (mine, strips) = (dir("mine"), dir("strips"));
    std::fs::write(mine.join("letter"), "dear").unwrap();
    assert!(DriveDeletion::of(&mine).is_err());
    std::fs::create_dir_all(strips.join("objects/07")).unwrap();
    std::fs::write(strips.join("objects/07/00000000000000000000000000000007"), "strips").unwrap();
    assert!(DriveDeletion::of(&strips).is_err(), "nothing says whose they are");
    assert!(DriveDeletion::of(&root.path().join("none")).is_err());
}
