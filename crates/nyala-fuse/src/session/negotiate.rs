// SPDX-License-Identifier: Apache-2.0

//! INIT: what the kernel offers and what is taken of it. Pure.
//!
//! **Failure model.** The kernel may be older or newer than any that this was written for: nothing is asked for that it
//! did not offer, and a version without the structures used here is refused with an error that names both.

use super::config::SessionConfig;
use crate::abi::init::*;
use crate::abi::{MAJOR, MINOR_MAX, MINOR_MIN};
use crate::types::{Features, Negotiated};
use std::mem::size_of;
use zerocopy::FromBytes;

const PAGE_BYTES: u32 = 4096;

/// What to answer to an INIT.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Agreed.
    Agreed(InitOut, Negotiated),
    /// Another major version: the kernel is to come again with this one.
    Again(InitOut),
    /// No.
    Refused(Refused),
}

/// Why there is no common ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too old.
    #[error("the kernel speaks FUSE {0}.{1}, which is older than {MAJOR}.{MINOR_MIN} (Linux 5.4): use a newer kernel")]
    TooOld(u32, u32),
    /// Not an INIT at all.
    #[error("the kernel's INIT request has only {0} bytes")]
    Short(usize),
}

/// Reads the kernel's offer, in its short or long form.
fn offer(args: &[u8]) -> Option<InitIn> {
    if let Ok((init, _)) = InitIn::read_from_prefix(args) {
        return Some(init);
    }
    let (short, _) = InitInShort::read_from_prefix(args).ok()?;
    let InitInShort { major, minor, max_readahead, flags } = short;
    Some(InitIn { major, minor, max_readahead, flags, ..InitIn::default() })
}

/// The flags that are wanted, whether offered or not.
fn wanted(config: &SessionConfig, features: &Features) -> u64 {
    let mut flags = ASYNC_READ
        | BIG_WRITES
        | MAX_PAGES
        | ATOMIC_O_TRUNC
        | PARALLEL_DIROPS
        | ASYNC_DIO
        | ABORT_ERROR
        | SETXATTR_EXT
        | INIT_EXT
        | HAS_EXPIRE_ONLY;
    for (on, flag) in [
        (config.readdirplus, DO_READDIRPLUS | READDIRPLUS_AUTO),
        (config.cache_symlinks, CACHE_SYMLINKS),
        (config.auto_inval_data, AUTO_INVAL_DATA),
        (!config.auto_inval_data, EXPLICIT_INVAL_DATA),
        (config.direct_io_allow_mmap, DIRECT_IO_ALLOW_MMAP),
        (config.handle_killpriv, HANDLE_KILLPRIV_V2),
        (features.posix_locks, POSIX_LOCKS),
        (features.flock, FLOCK_LOCKS),
        (features.posix_acl, POSIX_ACL),
        (features.dont_mask, DONT_MASK),
        (features.export, EXPORT_SUPPORT),
    ] {
        if on {
            flags |= flag;
        }
    }
    flags
}

/// Decides the answer to an INIT with these arguments.
pub(crate) fn negotiate(args: &[u8], config: &SessionConfig, features: &Features) -> Answer {
    let Some(init) = offer(args) else { return Answer::Refused(Refused::Short(args.len())) };
    if init.major > MAJOR {
        return Answer::Again(InitOut { major: MAJOR, minor: MINOR_MAX, ..InitOut::default() });
    }
    if init.major < MAJOR || init.minor < MINOR_MIN {
        return Answer::Refused(Refused::TooOld(init.major, init.minor));
    }
    let mut offered = u64::from(init.flags);
    if offered & INIT_EXT != 0 && args.len() >= size_of::<InitIn>() {
        offered |= u64::from(init.flags2) << 32;
    }
    let flags = offered & wanted(config, features);
    let pages = if flags & MAX_PAGES == 0 { 32 } else { (config.max_write_bytes / PAGE_BYTES).clamp(1, 0xffff) };
    let max_write_bytes = pages * PAGE_BYTES;
    let out = InitOut {
        major: MAJOR,
        minor: MINOR_MAX,
        max_readahead: config.max_readahead_bytes,
        flags: flags as u32,
        max_background: config.max_background.max(1),
        congestion_threshold: config.congestion_threshold.clamp(1, config.max_background.max(1)),
        max_write: max_write_bytes,
        time_gran: config.time_gran_ns.clamp(1, 1_000_000_000),
        max_pages: pages as u16,
        flags2: (flags >> 32) as u32,
        ..InitOut::default()
    };
    let negotiated =
        Negotiated { kernel_minor: init.minor, flags, max_write_bytes, max_readahead_bytes: init.max_readahead };
    Answer::Agreed(out, negotiated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    fn ask(minor: u32, flags: u64, config: &SessionConfig, features: &Features) -> Answer {
        let init = InitIn { major: 7, minor, flags: flags as u32, flags2: (flags >> 32) as u32, ..InitIn::default() };
        negotiate(init.as_bytes(), config, features)
    }

    fn agreed(answer: Answer) -> (InitOut, Negotiated) {
        match answer {
            Answer::Agreed(out, negotiated) => (out, negotiated),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_taken_that_was_not_offered() {
        let config = SessionConfig::default();
        let offered = ASYNC_READ | MAX_PAGES | WRITEBACK_CACHE;
        let (out, negotiated) = agreed(ask(45, offered, &config, &Features::default()));
        assert_eq!(negotiated.flags, ASYNC_READ | MAX_PAGES);
        assert_eq!((out.max_pages, out.max_write, out.flags2), (256, 1 << 20, 0));
    }

    #[test]
    fn locks_only_when_the_handler_has_them_and_never_write_back() {
        let config = SessionConfig::default();
        let none = agreed(ask(45, u64::MAX, &config, &Features::default())).1.flags;
        assert_eq!(none & (POSIX_LOCKS | FLOCK_LOCKS | POSIX_ACL | WRITEBACK_CACHE | SPLICE_READ), 0);
        assert_ne!(none & DIRECT_IO_ALLOW_MMAP, 0);
        assert_eq!(none & (AUTO_INVAL_DATA | EXPLICIT_INVAL_DATA), EXPLICIT_INVAL_DATA);
        let features = Features { posix_locks: true, flock: true, ..Features::default() };
        let both = agreed(ask(45, u64::MAX, &config, &features)).1.flags;
        assert_eq!(both & (POSIX_LOCKS | FLOCK_LOCKS), POSIX_LOCKS | FLOCK_LOCKS);
    }

    #[test]
    fn epochs_from_7_44_on() {
        let config = SessionConfig::default();
        for (minor, epochs) in [(31, false), (43, false), (44, true), (45, true), (46, true)] {
            let (out, negotiated) = agreed(ask(minor, 0, &config, &Features::default()));
            assert_eq!(negotiated.has_epochs(), epochs, "{minor}");
            assert_eq!(out.minor, MINOR_MAX);
        }
    }

    #[test]
    fn acls_come_with_the_umask_left_to_the_handler() {
        let config = SessionConfig::default();
        let features = Features { posix_acl: true, dont_mask: true, ..Features::default() };
        let flags = agreed(ask(45, u64::MAX, &config, &features)).1.flags;
        assert_eq!(flags & (POSIX_ACL | DONT_MASK | SETXATTR_EXT), POSIX_ACL | DONT_MASK | SETXATTR_EXT);
    }

    #[test]
    fn the_second_word_counts_only_with_init_ext() {
        let config = SessionConfig::default();
        let without = agreed(ask(38, DIRECT_IO_ALLOW_MMAP, &config, &Features::default())).1;
        assert_eq!(without.flags, 0);
        assert_eq!(without.max_write_bytes, 32 * 4096);
        let short = InitInShort { major: 7, minor: 31, max_readahead: 0, flags: INIT_EXT as u32 };
        assert_eq!(agreed(negotiate(short.as_bytes(), &config, &Features::default())).1.flags, INIT_EXT);
    }

    #[test]
    fn other_versions_are_told_or_refused() {
        let config = SessionConfig::default();
        let features = Features::default();
        let newer = InitIn { major: 8, ..InitIn::default() };
        assert!(matches!(negotiate(newer.as_bytes(), &config, &features), Answer::Again(out) if out.major == 7));
        assert!(matches!(ask(30, 0, &config, &features), Answer::Refused(Refused::TooOld(7, 30))));
        assert!(matches!(negotiate(&[0; 15], &config, &features), Answer::Refused(Refused::Short(15))));
    }
}
