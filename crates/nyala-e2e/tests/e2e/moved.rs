// SPDX-License-Identifier: Apache-2.0

//! Directories that one mount moves while another one has them in its kernel's tree at their old places.

use nyala_e2e::cluster::text;
use nyala_e2e::run::sh;
use nyala_e2e::{Mounts, beside_others, shared};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A directory by a descriptor, looked at anew.
fn through(held: &File) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", held.as_raw_fd()).into()
}

/// `there` renames what `here` moved, without a look at it first.
fn round(here: &Path, there: &Path, n: usize) {
    fs::create_dir(here.join("x/d")).unwrap();
    fs::write(here.join("x/d/f"), n.to_string()).unwrap();
    let held = File::open(there.join("x/d")).unwrap();
    assert_eq!(names(&there.join("x/d")), ["f"], "the other kernel has it, and something in it");
    let inode = held.metadata().unwrap().ino();

    fs::rename(here.join("x/d"), here.join("y/d")).unwrap();
    fs::rename(there.join("y/d"), there.join("z/d")).expect("moved by the other mount, renamed by this one");
    assert_eq!((names(&here.join("y")), names(&here.join("z"))), (vec![], vec!["d".to_owned()]));
    assert!(!there.join("x/d").exists() && !there.join("y/d").exists());
    assert_eq!(fs::metadata(there.join("z/d")).unwrap().ino(), inode);
    assert_eq!(fs::read_to_string(there.join("z/d/f")).unwrap(), n.to_string());

    // Who had it open goes on, and sees what is done by whatever way.
    fs::write(there.join("z/d/g"), "").unwrap();
    assert_eq!(names(&through(&held)), ["f", "g"]);
    fs::write(through(&held).join("h"), "").unwrap();
    assert_eq!(names(&there.join("z/d")), ["f", "g", "h"]);
    fs::remove_file(here.join("z/d/g")).unwrap();
    assert!(!there.join("z/d/g").exists() && !through(&held).join("g").exists());
    for at in [there.join("z/d"), through(&held)] {
        assert_eq!(fs::metadata(&at).unwrap().mtime_nsec(), fs::metadata(here.join("z/d")).unwrap().mtime_nsec());
        assert_eq!(names(&at), ["f", "h"]);
    }

    // A directory that is not empty is not replaced, and one that is, is.
    fs::create_dir(there.join("y/e")).unwrap();
    fs::rename(here.join("z/d"), here.join("x/d")).unwrap();
    let full = fs::rename(there.join("y/e"), there.join("x/d")).unwrap_err();
    assert_eq!(full.raw_os_error(), Some(libc::ENOTEMPTY));
    fs::rename(there.join("x/d"), there.join("y/e")).unwrap();
    fs::remove_dir_all(there.join("y/e")).unwrap();
    assert_eq!(held.metadata().unwrap().nlink(), 0);
}

#[test]
fn e2e_directories_that_another_mount_moved() {
    let _one = beside_others();
    let cluster = shared();
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs("moved");
    for name in ["x", "y", "z"] {
        fs::create_dir(dirs[0].join(name)).unwrap();
    }
    for n in 0..12 {
        round(&dirs[n % 2], &dirs[1 - n % 2], n);
    }
    sh(&format!("rm -r '{}'", text(&dirs[0])), Duration::from_secs(60)).must();
}
