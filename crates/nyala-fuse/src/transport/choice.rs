// SPDX-License-Identifier: Apache-2.0

//! Which transport a mount uses. `docs/decisions/0008-fuse-transport.md` has the figures. Pure.

use crate::abi::init::{INIT_EXT, InitIn, OVER_IO_URING};
use std::str::FromStr;
use zerocopy::FromBytes;

/// What carries a mount's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The better of the two that this kernel and this process can have: io_uring for a session of several threads, which
    /// then has one on every CPU; the device for one thread.
    #[default]
    Auto,
    /// The device, `/dev/fuse`, alone.
    Dev,
    /// io_uring; where that cannot be, the session fails and says why.
    Uring,
}

/// Not the name of a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transport `{0}` is not known: use auto, dev or uring")]
pub struct UnknownTransport(String);

impl FromStr for Transport {
    type Err = UnknownTransport;

    fn from_str(name: &str) -> Result<Transport, UnknownTransport> {
        match name {
            "auto" => Ok(Transport::Auto),
            "dev" => Ok(Transport::Dev),
            "uring" => Ok(Transport::Uring),
            other => Err(UnknownTransport(other.to_owned())),
        }
    }
}

/// What is to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Dev,
    /// The device if this fails.
    TryUring,
    /// The session's end if this fails.
    Uring,
    /// What was asked for cannot be; why.
    Impossible(&'static str),
}

/// With less room, a ring entry could not hold every request (an extended attribute of 64 KiB and its name).
const LEAST_WRITE_BYTES: u32 = 128 << 10;

/// Decides by what the kernel offers in its INIT.
pub(crate) fn choose(wanted: Transport, threads: usize, init_args: &[u8], max_write_bytes: u32) -> Choice {
    let why_not = if !offers(init_args) {
        Some(
            "the kernel does not offer FUSE over io_uring: it needs Linux 6.14 and `enable_uring` set to Y in \
             /sys/module/fuse/parameters before the mount",
        )
    } else if max_write_bytes < LEAST_WRITE_BYTES {
        Some("FUSE over io_uring needs max_write_bytes of at least 128 KiB")
    } else {
        None
    };
    match (wanted, why_not) {
        (Transport::Dev, _) | (Transport::Auto, Some(_)) => Choice::Dev,
        // One ring for all CPUs costs as much as the device: what a ring saves is the way to another CPU.
        (Transport::Auto, None) if threads <= 1 => Choice::Dev,
        (Transport::Auto, None) => Choice::TryUring,
        (Transport::Uring, None) => Choice::Uring,
        (Transport::Uring, Some(why)) => Choice::Impossible(why),
    }
}

fn offers(init_args: &[u8]) -> bool {
    InitIn::read_from_prefix(init_args).is_ok_and(|(init, _)| {
        let flags = u64::from(init.flags) | u64::from(init.flags2) << 32;
        flags & INIT_EXT != 0 && flags & OVER_IO_URING != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    fn init(flags: u64) -> InitIn {
        InitIn { flags: flags as u32, flags2: (flags >> 32) as u32, ..InitIn::default() }
    }

    #[test]
    fn names_are_read_and_others_refused_with_advice() {
        assert_eq!("auto".parse(), Ok(Transport::Auto));
        assert_eq!("dev".parse(), Ok(Transport::Dev));
        assert_eq!("uring".parse(), Ok(Transport::Uring));
        let error = "io_uring".parse::<Transport>().unwrap_err().to_string();
        assert!(error.contains("auto, dev or uring"), "{error}");
    }

    #[test]
    fn io_uring_only_where_it_is_offered() {
        let (with, without) = (init(INIT_EXT | OVER_IO_URING), init(INIT_EXT));
        assert_eq!(choose(Transport::Auto, 2, with.as_bytes(), 1 << 20), Choice::TryUring);
        assert_eq!(choose(Transport::Uring, 2, with.as_bytes(), 1 << 20), Choice::Uring);
        assert_eq!(choose(Transport::Dev, 2, with.as_bytes(), 1 << 20), Choice::Dev);
        assert_eq!(choose(Transport::Auto, 2, without.as_bytes(), 1 << 20), Choice::Dev);
        assert!(
            matches!(choose(Transport::Uring, 2, without.as_bytes(), 1 << 20), Choice::Impossible(why) if why.contains("enable_uring"))
        );
        // The second word means nothing without INIT_EXT, and old kernels do not send it.
        assert_eq!(choose(Transport::Auto, 2, init(OVER_IO_URING).as_bytes(), 1 << 20), Choice::Dev);
        assert_eq!(choose(Transport::Auto, 2, &with.as_bytes()[..16], 1 << 20), Choice::Dev);
    }

    #[test]
    fn one_thread_stays_with_the_device_unless_told_otherwise() {
        let offer = init(INIT_EXT | OVER_IO_URING);
        assert_eq!(choose(Transport::Auto, 1, offer.as_bytes(), 1 << 20), Choice::Dev);
        assert_eq!(choose(Transport::Uring, 1, offer.as_bytes(), 1 << 20), Choice::Uring);
    }

    #[test]
    fn small_entries_are_not_used() {
        let offer = init(INIT_EXT | OVER_IO_URING);
        assert_eq!(choose(Transport::Auto, 2, offer.as_bytes(), 4096), Choice::Dev);
        assert!(matches!(choose(Transport::Uring, 2, offer.as_bytes(), 4096), Choice::Impossible(_)));
    }
}
