// SPDX-License-Identifier: Apache-2.0

//! `nyala entry` and `nyala status` for users who may not read the cluster's secret: what their rights to the entry let
//! them, through the mount.

use nyala_e2e::cluster::text;
use nyala_e2e::run::{Outcome, run};
use nyala_e2e::{Cluster, Options, beside_others, binary, sys};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const OWNER: u32 = 12_345;
const OTHER: u32 = 12_346;

struct Users {
    program: PathBuf,
}

impl Users {
    /// The program lies where everybody reaches it.
    fn new(cluster: &Cluster) -> Users {
        fs::set_permissions(cluster.root(), Permissions::from_mode(0o755)).unwrap();
        let program = cluster.root().join("nyala");
        fs::copy(binary::nyala(), &program).unwrap();
        Users { program }
    }

    fn nyala(&self, uid: u32, args: &[&str]) -> Outcome {
        let ids = [format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".into()];
        let mut command = Command::new("setpriv");
        command.args(ids).arg(&self.program).args(args).current_dir("/");
        run(&mut command, Duration::from_secs(60))
    }

    #[track_caller]
    fn info(&self, uid: u32, path: &Path) -> Value {
        let out = self.nyala(uid, &["entry", "info", &text(path), "--output", "json"]).must();
        serde_json::from_str(&out).unwrap()
    }
}

#[track_caller]
fn refused(outcome: &Outcome, code: i32, word: &str) {
    assert_eq!(outcome.code(), Some(code), "{}", outcome.describe());
    assert!(outcome.err.contains(word), "{word:?} is not said: {}", outcome.describe());
}

#[test]
fn e2e_entries_of_normal_users() {
    let _one = beside_others();
    let cluster = Cluster::start(Options::default());
    let users = Users::new(&cluster);
    let dir = cluster.test_dir("mine");
    chown(&dir, Some(OWNER), Some(OWNER)).unwrap();
    owner(&cluster, &users, &dir);
    others(&users, &dir);
    attributes(&dir);
    status(&cluster, &users);
}

/// What root sees with the secret; and a directory's owner sets what it gives.
fn owner(cluster: &Cluster, users: &Users, dir: &Path) {
    let as_root = |path: &Path| cluster.json(&["entry", "info", &text(path)]);
    assert_eq!(users.info(OWNER, dir), as_root(dir));
    let set = ["entry", "set", "--num-targets", "3", "--chunk-size", "1m", "--inline-size", "0", &text(dir)];
    users.nyala(OWNER, &set).must();
    let given = users.info(OWNER, dir);
    assert_eq!((&given["stripe"]["num_targets"], &given["stripe"]["inline_size"]), (&3.into(), &0.into()));
    assert_eq!(given, as_root(dir));
    let file = dir.join("file");
    fs::write(&file, vec![7; 5 << 20]).unwrap();
    chown(&file, Some(OWNER), Some(OWNER)).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    let seen = users.info(OWNER, &file);
    assert_eq!(seen["stripe"]["targets"].as_array().unwrap().len(), 3, "{seen}");
    assert_eq!((&seen["size"], &seen["stripe"]["chunk_size"]), (&(5 << 20).into(), &(1 << 20).into()));
    assert_eq!(seen, as_root(&file));
    let people = users.nyala(OWNER, &["entry", "info", &text(&file)]).must();
    assert!(people.contains("@ storage1 [ID:") && people.contains("@ storage2 [ID:"), "{people}");
    let given = users.info(OWNER, dir);
    assert_eq!(given["size"].as_u64(), Some(1), "its entries");
    let many = users.nyala(OWNER, &["entry", "set", "--num-targets", "100", &text(dir)]);
    refused(&many, 1, "there are only 4 storage targets");
    let mirror = users.nyala(OWNER, &["entry", "set", "--pattern", "mirror", &text(dir)]);
    refused(&mirror, 1, "no mirror groups");
    let pool = users.nyala(OWNER, &["entry", "set", "--pool", "9", &text(dir)]);
    refused(&pool, 1, "pool");
    refused(&users.nyala(OWNER, &["entry", "set", "--num-targets", "1", &text(&file)]), 1, "not a directory");
    assert_eq!(users.info(OWNER, dir), given);
}

/// Who reaches an entry may look; only its owner may set; who does not reach it learns nothing.
fn others(users: &Users, dir: &Path) {
    let given = users.info(OTHER, dir);
    let set = users.nyala(OTHER, &["entry", "set", "--num-targets", "1", &text(dir)]);
    refused(&set, 5, "owner");
    fs::set_permissions(dir, Permissions::from_mode(0o777)).unwrap();
    let set = users.nyala(OTHER, &["entry", "set", "--num-targets", "1", &text(dir)]);
    refused(&set, 5, "owner");
    fs::set_permissions(dir, Permissions::from_mode(0o700)).unwrap();
    refused(&users.nyala(OTHER, &["entry", "info", &text(&dir.join("file"))]), 5, "permission");
    assert_eq!(users.info(OTHER, dir), given);
    users.nyala(OWNER, &["entry", "info", &text(&dir.join("file"))]).must();
    refused(&users.nyala(OTHER, &["entry", "info", &text(&dir.with_file_name("none"))]), 1, "No such file");
}

/// The attributes behind it, for whoever tries them by hand.
fn attributes(dir: &Path) {
    let wrong = |value: &[u8]| sys::setxattr(dir, "system.nyala.pattern", value, 0).unwrap_err().raw_os_error();
    assert_eq!(
        (wrong(b""), wrong(b"nonsense"), wrong(&[0xff; 3000])),
        (Some(libc::EINVAL), Some(libc::EINVAL), Some(libc::EINVAL))
    );
    let get = |name| sys::getxattr(dir, name).map_err(|error| error.raw_os_error());
    assert!(!get("system.nyala.entry").unwrap().is_empty());
    assert_eq!(get("system.nyala.pattern"), Err(Some(libc::EOPNOTSUPP)));
    let entry = sys::setxattr(dir, "system.nyala.entry", b"x", 0).unwrap_err();
    assert_eq!(entry.raw_os_error(), Some(libc::EOPNOTSUPP));
}

/// Services that run are not called silent because the secret is not for this user; that is said instead.
fn status(cluster: &Cluster, users: &Users) {
    let status = users.nyala(OWNER, &["status", "--dir", &text(&cluster.dir())]);
    assert_eq!(status.code(), Some(0), "{}", status.describe());
    assert!(!status.out.contains("not-answering"), "{}", status.describe());
    assert!(status.err.contains("secret") && status.err.contains("listens"), "{}", status.describe());
}
