// SPDX-License-Identifier: Apache-2.0

//! Settings of targets.

use super::*;

#[test]
fn a_target_has_a_directory_or_drives() {
    let spec = |text: &str| toml::from_str::<TargetArg>(text).unwrap().spec();
    let six =
        spec("drives = [\"/d1\", \"/d2\", \"/d3\", \"/d4\"]\nlevel = \"6\"\nstrip = \"64k\"\nspares = [\"/d5\"]\n");
    let six = six.unwrap();
    let set = six.set.unwrap();
    assert_eq!((six.dir, set.strip_bytes, set.spares), ("/d1".into(), Some(65536), vec!["/d5".parse().unwrap()]));
    assert_eq!(set.level.map(|level| level.to_string()), Some("6".to_owned()));
    let far = spec("drives = [\"/d1\", \"net://oss2:8004/d1\", \"net://[fd00::3]:8004/d1\"]\n").unwrap().set.unwrap();
    assert_eq!(far.drives.iter().filter(|drive| drive.dir().is_none()).count(), 2);
    let spares = spec("drives = [\"/d1\"]\nspares = [\"/d9\", \"net://oss2:8004/d9\"]\nspare-after = \"10m\"\n")
        .unwrap()
        .set
        .unwrap();
    assert_eq!((spares.spares.len(), spares.spare_after), (2, Some(std::time::Duration::from_secs(600))));
    let nested = spec("drives = [\"/d1\"]\nlevel = \"60\"\n").unwrap_err();
    assert!(nested.message.contains("groups"), "{nested}");
    for bad in [
        "drives = [\"net://oss2/d1\"]",
        "drives = [\"/d\"]\nspares = [\"net://oss2/d1\"]",
        "drives = [\"/d\", \"/e\"]\nspares = [\"/e\"]",
        "dir = \"/d\"\nspare-after = \"10s\"",
        "id = 1",
        "dir = \"/d\"\ndrives = [\"/e\"]",
        "dir = \"/d\"\nlevel = \"6\"",
    ] {
        assert!(spec(bad).is_err(), "{bad}");
    }
}
