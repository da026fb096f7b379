// SPDX-License-Identifier: Apache-2.0

//! Clusters for tests that do them no harm: one test after another has the same one, and no two at once.

use crate::{Cluster, Options};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// All that were made, and those that no test has now. As many are made as tests run at the same time.
struct Pool {
    made: Vec<&'static Cluster>,
    free: Vec<&'static Cluster>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { made: Vec::new(), free: Vec::new() });

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the long form is asked for (`NYALA_E2E_LONG=1`).
pub fn long() -> bool {
    std::env::var_os("NYALA_E2E_LONG").is_some_and(|value| value == "1")
}

/// A cluster that other tests have had and will have; made if there is none, taken away when the process ends. A test works
/// in its own directory, [`Cluster::test_dir`].
pub fn shared() -> Shared {
    let free = pool().free.pop();
    let shared = Shared(free.unwrap_or_else(make));
    shared.wait_healthy();
    shared
}

fn make() -> &'static Cluster {
    static AT_EXIT: Once = Once::new();
    // SAFETY: the function is a plain one and does not unwind: cleanup reports and goes on.
    AT_EXIT.call_once(|| assert_eq!(unsafe { libc::atexit(take_away) }, 0, "atexit"));
    let cluster = Box::leak(Box::new(Cluster::start(Options::default())));
    pool().made.push(cluster);
    cluster
}

extern "C" fn take_away() {
    for cluster in std::mem::take(&mut pool().made) {
        for problem in crate::cleanup::remove(cluster.root()) {
            eprintln!("{problem}");
        }
    }
}

/// A test's use of a shared cluster; prints the logs when the test panics.
pub struct Shared(&'static Cluster);

impl Deref for Shared {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0.logs(50));
        }
        pool().free.push(self.0);
    }
}
