// SPDX-License-Identifier: Apache-2.0

//! The requests' numbers.

/// Declares the opcodes as an enum with a total conversion from the number.
macro_rules! opcodes {
    ($($name:ident = $number:literal),* $(,)?) => {
        /// What a request asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Opcode { $($name = $number),* }

        impl Opcode {
            /// The opcode of a number, or none for one that this version does not know.
            pub fn from_number(number: u32) -> Option<Opcode> {
                match number {
                    $($number => Some(Opcode::$name),)*
                    _ => None,
                }
            }

            /// Every opcode, for tests.
            #[cfg(test)]
            pub const ALL: &[Opcode] = &[$(Opcode::$name),*];
        }
    };
}

opcodes! {
    Lookup = 1, Forget = 2, Getattr = 3, Setattr = 4, Readlink = 5, Symlink = 6, Mknod = 8, Mkdir = 9, Unlink = 10,
    Rmdir = 11, Rename = 12, Link = 13, Open = 14, Read = 15, Write = 16, Statfs = 17, Release = 18, Fsync = 20,
    Setxattr = 21, Getxattr = 22, Listxattr = 23, Removexattr = 24, Flush = 25, Init = 26, Opendir = 27, Readdir = 28,
    Releasedir = 29, Fsyncdir = 30, Getlk = 31, Setlk = 32, Setlkw = 33, Access = 34, Create = 35, Interrupt = 36,
    Bmap = 37, Destroy = 38, Ioctl = 39, Poll = 40, NotifyReply = 41, BatchForget = 42, Fallocate = 43,
    Readdirplus = 44, Rename2 = 45, Lseek = 46, CopyFileRange = 47, SetupMapping = 48, RemoveMapping = 49, Syncfs = 50,
    Tmpfile = 51, Statx = 52, CopyFileRange64 = 53,
}

impl Opcode {
    /// Whether the kernel expects no reply at all, and refuses one.
    pub fn is_silent(self) -> bool {
        matches!(self, Opcode::Forget | Opcode::BatchForget | Opcode::Interrupt | Opcode::NotifyReply)
    }
}
