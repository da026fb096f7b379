// SPDX-License-Identifier: Apache-2.0

//! Which transport the tests of a program use, and the kernel's switch for io_uring.
//!
//! The programs `uring` and `uring_threads` contain the tests of the others; by that name they are known here.

use nyala_fuse::{SessionConfig, Transport};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// The kernel's switch has been set while this lives; then it is as before.
pub struct Switch {
    before: Option<String>,
    // Other tests and programs wait for it; last, so that it is let go last.
    _lock: File,
}

impl Switch {
    /// The kernel offers io_uring.
    pub fn on() -> Switch {
        Switch::set("Y")
    }

    /// It does not.
    pub fn off() -> Switch {
        Switch::set("N")
    }

    /// Whether this kernel can do it at all.
    pub fn is_known(&self) -> bool {
        self.before.is_some()
    }

    fn set(value: &str) -> Switch {
        let lock = File::create(std::env::temp_dir().join("nyala-enable-uring.lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let before = fs::exists(SWITCH).unwrap().then(|| {
            let before = fs::read_to_string(SWITCH).unwrap();
            fs::write(SWITCH, value).expect("the kernel's switch for FUSE over io_uring must be set, which needs root");
            before
        });
        Switch { before, _lock: lock }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            fs::write(SWITCH, before.trim()).unwrap();
        }
    }
}

/// The configuration with this program's transport. A kernel older than 6.14 has no switch: then the device is tested
/// once more, and that is said.
pub fn this_programs(config: SessionConfig) -> (SessionConfig, Option<Switch>) {
    let program = module_path!().split("::").next();
    let threads = match program {
        Some("uring") => config.threads,
        Some("uring_threads") => 2,
        _ => return (SessionConfig { transport: Transport::Dev, ..config }, None),
    };
    if !fs::exists(SWITCH).unwrap() {
        eprintln!("this kernel has no FUSE over io_uring ({SWITCH}): tested over /dev/fuse");
        return (SessionConfig { transport: Transport::Dev, ..config }, None);
    }
    (SessionConfig { transport: Transport::Uring, threads, ..config }, Some(Switch::on()))
}
