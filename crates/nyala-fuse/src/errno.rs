// SPDX-License-Identifier: Apache-2.0

//! An operation's error as the kernel and the application see it.

use std::fmt;
use std::io;

/// A Linux errno, always between 1 and 511: what a reply to the kernel may carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

/// Declares the named errors.
macro_rules! errnos {
    ($($name:ident)*) => {
        impl Errno {
            $(#[doc = concat!("`", stringify!($name), "`.")] pub const $name: Errno = Errno(libc::$name);)*
        }

        /// The symbolic name, where there is one.
        fn name_of(number: i32) -> Option<&'static str> {
            match number {
                $(libc::$name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

errnos! {
    EPERM ENOENT EINTR EIO ENXIO E2BIG EBADF EAGAIN ENOMEM EACCES EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL
    ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY
    ELOOP ENODATA EOVERFLOW EPROTO EBADMSG ENOTSUP ESTALE EDQUOT ETIMEDOUT ENOTCONN ECONNREFUSED EHOSTDOWN ECANCELED
    EREMOTEIO EUCLEAN EKEYEXPIRED EKEYREJECTED
}

impl Errno {
    /// The errno of a number; one that a reply cannot carry becomes `EIO`.
    pub const fn from_raw(number: i32) -> Errno {
        if number > 0 && number < 512 { Errno(number) } else { Errno::EIO }
    }

    /// The positive number.
    pub const fn raw(self) -> i32 {
        self.0
    }
}

impl From<io::Error> for Errno {
    /// The system's own errno, or `EIO` for an error that has none.
    fn from(error: io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno::from_raw(error.raw_os_error())
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name_of(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&io::Error::from_raw_os_error(self.0), f)
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reply_can_carry() {
        assert_eq!(Errno::from_raw(libc::ENOENT), Errno::ENOENT);
        for bad in [0, -5, 512, i32::MAX, i32::MIN] {
            assert_eq!(Errno::from_raw(bad), Errno::EIO);
        }
        assert_eq!(Errno::from(io::Error::other("no number")), Errno::EIO);
        assert_eq!(format!("{:?}", Errno::ENOTEMPTY), "ENOTEMPTY");
    }
}
