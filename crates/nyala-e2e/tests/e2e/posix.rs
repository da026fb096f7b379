// SPDX-License-Identifier: Apache-2.0

//! What the mount does, operation by operation.

use nyala_e2e::{beside_others, posix, shared};

#[test]
fn e2e_posix_basics() {
    let _one = beside_others();
    let cluster = shared();
    let failed = posix::run_all(&cluster.test_dir("posix"));
    assert!(failed.is_empty(), "failed: {failed:?}");
}

/// The checks themselves are checked: a local file system passes them.
#[test]
fn posix_checks_pass_on_the_local_file_system() {
    let _one = beside_others();
    let dir = tempfile::tempdir_in("/var/tmp").expect("/var/tmp takes directories");
    let failed = posix::run_all(dir.path());
    assert!(failed.is_empty(), "failed: {failed:?}");
}
