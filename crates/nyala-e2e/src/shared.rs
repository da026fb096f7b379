// SPDX-License-Identifier: Apache-2.0

//! One cluster for all tests that do it no harm, and one test at a time.

use crate::{Cluster, Options};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static SHARED: Mutex<Option<&'static Cluster>> = Mutex::new(None);

/// Whether the long form is asked for (`NYALA_E2E_LONG=1`).
pub fn long() -> bool {
    std::env::var_os("NYALA_E2E_LONG").is_some_and(|value| value == "1")
}

/// Held by a test while it runs: the tests measure time and fill the machine.
pub fn serial() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared cluster; made by the first that asks, taken away when the process ends. A test works in its own
/// directory, [`Cluster::test_dir`].
pub fn shared() -> Shared {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = *shared.get_or_insert_with(|| {
        static AT_EXIT: Once = Once::new();
        // SAFETY: the function is a plain one and does not unwind: cleanup reports and goes on.
        AT_EXIT.call_once(|| assert_eq!(unsafe { libc::atexit(take_away) }, 0, "atexit"));
        Box::leak(Box::new(Cluster::start(Options::default())))
    });
    drop(shared);
    let shared = Shared(cluster);
    shared.wait_healthy();
    shared
}

extern "C" fn take_away() {
    let cluster = SHARED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(cluster) = cluster {
        for problem in crate::cleanup::remove(cluster.root()) {
            eprintln!("{problem}");
        }
    }
}

/// A test's use of the shared cluster; prints the logs when the test panics.
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
    }
}
