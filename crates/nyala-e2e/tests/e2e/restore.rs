// SPDX-License-Identifier: Apache-2.0

//! A damaged store of a mirrored target is restored from its mirror, by the commands of `docs/operating.md`, while a program
//! reads.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::Outcome;
use nyala_e2e::{Cluster, Options, beside_others, wait_until};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const FILES: u64 = 24;
const OLD: u64 = 201;

/// The section that says what to do.
fn section() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let from = page.split("\n## Restore a store from its mirror\n").nth(1).expect("the section is there");
    from.split("\n## ").next().unwrap().to_owned()
}

/// Runs a command of the section; what it names in capitals is filled in.
fn as_said(cluster: &Cluster, said: &str, names: &[(&str, &str)]) -> Outcome {
    assert!(section().contains(&format!("`nyala {said}`")), "the section does not say: nyala {said}");
    let fill = |word: &str| names.iter().find(|(name, _)| *name == word).map_or(word, |(_, value)| value).to_owned();
    let mut args: Vec<String> = said.split(' ').map(fill).collect();
    if !said.starts_with("target add") {
        args.extend(["--dir".to_owned(), text(&cluster.dir())]);
    }
    cluster.nyala(args)
}

/// Flips bits in the middle of the records in the last segment of a target's log, which is named by its number.
fn damage_log(target: &Path) {
    let log = target.join("kv/log");
    let mut segments: Vec<_> = fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    segments.sort();
    let segment = segments.pop().expect("a store has a log");
    let bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    assert!(end > 3 * 4096, "{} has too few records: {end} bytes", segment.display());
    let middle = end / 2;
    let wrong: Vec<u8> = bytes[middle..middle + 64].iter().map(|byte| !byte).collect();
    OpenOptions::new().write(true).open(&segment).unwrap().write_all_at(&wrong, middle as u64).unwrap();
}

#[track_caller]
fn all_is_there(dir: &Path) {
    for number in 0..FILES {
        let got = fs::read(dir.join(format!("f{number}"))).unwrap();
        assert!(got == pattern(number, (300 << 10) + number as usize), "f{number}");
    }
}

fn until(cluster: &Cluster, what: &str, holds: impl FnMut() -> bool) {
    wait_until(Duration::from_secs(60), holds, || format!("{what}\n{}", cluster.logs(20)));
}

fn storage_targets(cluster: &Cluster) -> Vec<u64> {
    let all = cluster.json(&["target", "list", "--kind", "storage"]);
    all.as_array().unwrap().iter().map(|target| target["id"].as_u64().unwrap()).collect()
}

fn state(cluster: &Cluster, target: u64) -> Option<Value> {
    let groups = cluster.json(&["mirror", "list"]);
    let members = groups.as_array().unwrap().iter().flat_map(|group| group["members"].as_array().unwrap().clone());
    members.filter(|member| member["target"] == target).map(|member| member["state"].clone()).next()
}

#[test]
fn e2e_restore_from_the_mirror() {
    let _one = beside_others();
    let mirror = ["--mirror", "--meta-spares", "0", "--inline-size", "0"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more: mirror });
    let dir = cluster.test_dir("kept");
    for number in 0..FILES {
        let file = fs::File::create(dir.join(format!("f{number}"))).unwrap();
        file.write_all_at(&pattern(number, (300 << 10) + number as usize), 0).unwrap();
        file.sync_all().unwrap();
    }
    cluster.stop_service("storage2");
    damage_log(&cluster.dir().join("storage2/t1"));
    let start = cluster.nyala(["start", "storage2", "--dir", &text(&cluster.dir())]);
    assert_eq!(start.code(), Some(1), "{}", start.describe());
    assert!(start.err.contains("restore this store from its mirror"), "{}", start.describe());
    all_is_there(&dir);

    let new_dir = cluster.root().join("new");
    fs::create_dir(&new_dir).unwrap();
    as_said(&cluster, "mirror list", &[]).must();
    as_said(&cluster, "target list --state", &[]).must();
    as_said(&cluster, "target add DIR", &[("DIR", &text(&new_dir))]).must();
    let settings = cluster.dir().join("conf/storage2.toml");
    let (old, new) = (text(&cluster.dir().join("storage2/t1")), text(&new_dir));
    let lines = fs::read_to_string(&settings).unwrap().replace(&old, &new).replace(&format!("id = {OLD}\n"), "");
    fs::write(&settings, lines).unwrap();
    as_said(&cluster, "start NAME", &[("NAME", "storage2")]).must();
    let target = storage_targets(&cluster).into_iter().find(|id| ![101, OLD].contains(id)).expect("it has an id");
    let (new, old) = (target.to_string(), OLD.to_string());
    let names = [("GROUP", "1"), ("NEW", new.as_str()), ("OLD", old.as_str())];
    as_said(&cluster, "mirror add GROUP NEW", &names).must();
    as_said(&cluster, "mirror resync stats", &[]).must();
    until(&cluster, "a full member", || state(&cluster, target) == Some("good".into()));
    as_said(&cluster, "mirror remove-member GROUP OLD", &names).must();
    as_said(&cluster, "target remove OLD --yes", &names).must();
    as_said(&cluster, "mirror check", &[]).must();
    assert_eq!(storage_targets(&cluster), [101, target]);
    cluster.assert_fsck_clean();

    // What was filled serves alone.
    cluster.nyala(["mirror", "switch", "1", &new, "--dir", &text(&cluster.dir())]).must();
    cluster.stop_service("mount");
    cluster.stop_service("storage1");
    cluster.start_service("mount");
    all_is_there(&dir);
}
