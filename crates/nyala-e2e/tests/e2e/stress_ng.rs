// SPDX-License-Identifier: Apache-2.0

//! stress-ng's stressors of file systems, each for a moment, with verification of what they did.

use nyala_e2e::run::run;
use nyala_e2e::{beside_others, long, shared};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Those that apply to a network file system: what each does is in `stress-ng(1)`.
const STRESSORS: &[&str] = &[
    "access",
    "aio",
    "aiol",
    "chattr",
    "chdir",
    "chmod",
    "chown",
    "copy-file",
    "dentry",
    "dir",
    "dirdeep",
    "dirmany",
    "dnotify",
    "dup",
    "fallocate",
    "fcntl",
    "file-ioctl",
    "filename",
    "flock",
    "fpunch",
    "fsize",
    "fstat",
    "getdent",
    "handle",
    "hdd",
    "inode-flags",
    "inotify",
    "io",
    "iomix",
    "lease",
    "link",
    "locka",
    "lockf",
    "lockofd",
    "mknod",
    "mmap",
    "open",
    "readahead",
    "rename",
    "revio",
    "seek",
    "sendfile",
    "splice",
    "symlink",
    "sync-file",
    "touch",
    "utime",
    "xattr",
];

/// Those that do not, and why; the same is in `docs/SEMANTICS.md`.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    ("bind-mount", "changes the machine's mounts, not files"),
    ("binderfs", "a file system of its own"),
    ("eventfd", "no files"),
    ("fanotify", "watches all mounts of the machine"),
    ("fiemap", "FUSE has no FIEMAP: the kernel says EOPNOTSUPP"),
    ("io-uring", "asks for the status of a name that it removed itself: fails on every file system"),
    ("ioprio", "no files"),
    ("procfs", "a file system of its own"),
    ("rawdev", "block devices"),
    ("verity", "FUSE has no fs-verity of servers that do not keep it"),
];

/// Less work where a stressor does much before it looks at the time.
const LITTLE: &[(&str, &[&str])] = &[
    ("dentry", &["--dentries", "64"]),
    ("fallocate", &["--fallocate-bytes", "4M"]),
    ("hdd", &["--hdd-bytes", "4M"]),
    ("iomix", &["--iomix-bytes", "4M"]),
    ("mmap", &["--mmap-file", "--mmap-bytes", "1M"]),
    ("seek", &["--seek-size", "4M"]),
    ("sync-file", &["--sync-file-bytes", "4M"]),
];

fn stress(stressor: &str, dir: &Path, seconds: u32) -> nyala_e2e::Outcome {
    let mut command = Command::new("stress-ng");
    command.arg("--temp-path").arg(dir).current_dir("/");
    command.args([&format!("--{stressor}"), "1", "--verify", "--timeout", &seconds.to_string()]);
    for (_, more) in LITTLE.iter().filter(|(name, _)| *name == stressor) {
        command.args(*more);
    }
    run(&mut command, Duration::from_secs(u64::from(seconds) + 90))
}

#[test]
fn e2e_stress_ng() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("stress-ng");
    let mut wrong = String::new();
    for stressor in STRESSORS {
        let outcome = stress(stressor, &dir, if long() { 20 } else { 1 });
        if outcome.took.as_secs() > 5 {
            println!("{stressor}: {:.1} s", outcome.took.as_secs_f64());
        }
        let said = format!("{}{}", outcome.out, outcome.err);
        if !outcome.ok() || said.contains("skipp") || said.contains("fail:") {
            wrong.push_str(&format!("{stressor}: {}\n", outcome.describe()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\n{}", cluster.logs(30));
    let page = fs::read_to_string(nyala_e2e::binary::repository().join("docs/SEMANTICS.md")).unwrap();
    for (stressor, why) in NOT_APPLICABLE {
        assert!(page.contains(&format!("`{stressor}`")), "docs/SEMANTICS.md does not say that {stressor}: {why}");
    }
    fs::remove_dir_all(&dir).unwrap();
}
