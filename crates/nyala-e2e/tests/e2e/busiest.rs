// SPDX-License-Identifier: Apache-2.0

//! `nyala stats file` and `directory`: what is used most is named by its path, for those who have an operator's key.

use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Options, beside_others};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
const WRITES: u64 = 800;
const NAMES: u64 = 1500;

/// Memory that begins at a page, as direct I/O wants it.
#[repr(align(4096))]
struct Aligned([u8; BLOCK]);

/// Each write is on disk when it returns: no client keeps it back.
fn write_often(path: &Path) {
    fs::write(path, vec![7; 1 << 20]).unwrap();
    let file = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path).unwrap();
    let block = Aligned([8; BLOCK]);
    for number in 0..WRITES {
        file.write_all_at(&block.0, number % 256 * BLOCK as u64).unwrap();
    }
}

fn make_names(dir: &Path) {
    for number in 0..NAMES {
        drop(File::create_new(dir.join(format!("n{number}"))).unwrap());
    }
}

/// Asks until an answer has that in front; a service may be asked between two of its requests.
fn first(cluster: &Cluster, args: &[&str], path: &str) -> Value {
    let said = cluster.json(args);
    let rows = said.as_array().unwrap_or_else(|| panic!("{said}"));
    assert_eq!(rows.first().and_then(|row| row["path"].as_str()), Some(path), "{args:?}: {said:#}");
    rows[0].clone()
}

#[test]
fn e2e_busiest_files_and_directories_are_named() {
    let _lane = beside_others();
    let options = Options { meta: 2, storage: 2, storage_services: 2, ..Options::default() };
    let cluster = Cluster::start(options);
    let root = cluster.test_dir("busy");
    let (dir, quiet) = (root.join("a/b"), root.join("quiet"));
    fs::create_dir_all(&dir).unwrap();
    fs::create_dir(&quiet).unwrap();
    fs::write(quiet.join("once"), vec![1; 1 << 20]).unwrap();
    make_names(&dir);
    let renamed = dir.join("written often");
    write_often(&dir.join("first"));
    // Of a name within the same directory, the new one is found.
    fs::rename(dir.join("first"), &renamed).unwrap();

    let file = first(&cluster, &["stats", "file"], "/busy/a/b/written often");
    let bytes = first(&cluster, &["stats", "file", "--by", "bytes", "--top", "1"], "/busy/a/b/written often");
    assert_eq!(file["inode"], bytes["inode"]);
    let of = |row: &Value, what: &str| row[what].as_f64().unwrap_or_else(|| panic!("{row}"));
    // In each second of no more than a minute; one request in sixteen is looked at.
    assert!(of(&bytes, "written_bytes") > 0.5 * (WRITES * BLOCK as u64) as f64 / 60.0, "{bytes}");
    assert!(of(&file, "requests") > 0.5 * WRITES as f64 / 60.0, "{file}");
    let directory = first(&cluster, &["stats", "directory"], "/busy/a/b");
    assert!(of(&directory, "changes") > 0.5 * NAMES as f64 / 60.0, "{directory}");
    let dir = text(&cluster.dir());
    let table = cluster.nyala(["stats", "directory", "--watch", "100ms", "--count", "2", "--dir", &dir]).must();
    assert_eq!(table.matches("/busy/a/b ").count(), 2, "{table}");

    // Who has a client's key only is told no names.
    let (secret, key) = (text(&cluster.dir().join("secret")), text(&cluster.root().join("client.key")));
    cluster.nyala(["secret", "add", "--role", "client", "--id", "web", "--file", &secret]).must();
    cluster.nyala(["secret", "export", &key, "--role", "client", "--file", &secret]).must();
    let mgmt = format!("127.0.0.1:{}", cluster.port());
    let ask = || cluster.nyala(["stats", "file", "--mgmt", &mgmt, "--secret", &key]);
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut refused = ask();
    // Services look at the file from time to time.
    while !refused.err.contains("operators") && Instant::now() < deadline {
        refused = ask();
    }
    assert!(!refused.ok() && refused.err.contains("operators"), "{}", refused.describe());
}
