// SPDX-License-Identifier: Apache-2.0

//! The requests' numbers.

/// Declares the opcodes as an enum with a total conversion from the number.
macro_rules! opcodes {
    ($($name:ident = $number:literal $word:literal),* $(,)?) => {
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

            /// The opcode in small letters.
            pub fn word(self) -> &'static str {
                match self {
                    $(Opcode::$name => $word,)*
                }
            }

            /// Every opcode, for tests.
            #[cfg(test)]
            pub const ALL: &[Opcode] = &[$(Opcode::$name),*];
        }
    };
}

opcodes! {
    Lookup = 1 "lookup",
    Forget = 2 "forget",
    Getattr = 3 "getattr",
    Setattr = 4 "setattr",
    Readlink = 5 "readlink",
    Symlink = 6 "symlink",
    Mknod = 8 "mknod",
    Mkdir = 9 "mkdir",
    Unlink = 10 "unlink",
    Rmdir = 11 "rmdir",
    Rename = 12 "rename",
    Link = 13 "link",
    Open = 14 "open",
    Read = 15 "read",
    Write = 16 "write",
    Statfs = 17 "statfs",
    Release = 18 "release",
    Fsync = 20 "fsync",
    Setxattr = 21 "setxattr",
    Getxattr = 22 "getxattr",
    Listxattr = 23 "listxattr",
    Removexattr = 24 "removexattr",
    Flush = 25 "flush",
    Init = 26 "init",
    Opendir = 27 "opendir",
    Readdir = 28 "readdir",
    Releasedir = 29 "releasedir",
    Fsyncdir = 30 "fsyncdir",
    Getlk = 31 "getlk",
    Setlk = 32 "setlk",
    Setlkw = 33 "setlkw",
    Access = 34 "access",
    Create = 35 "create",
    Interrupt = 36 "interrupt",
    Bmap = 37 "bmap",
    Destroy = 38 "destroy",
    Ioctl = 39 "ioctl",
    Poll = 40 "poll",
    NotifyReply = 41 "notifyreply",
    BatchForget = 42 "batchforget",
    Fallocate = 43 "fallocate",
    Readdirplus = 44 "readdirplus",
    Rename2 = 45 "rename2",
    Lseek = 46 "lseek",
    CopyFileRange = 47 "copyfilerange",
    SetupMapping = 48 "setupmapping",
    RemoveMapping = 49 "removemapping",
    Syncfs = 50 "syncfs",
    Tmpfile = 51 "tmpfile",
    Statx = 52 "statx",
    CopyFileRange64 = 53 "copyfilerange64",
}

impl Opcode {
    /// Whether the kernel expects no reply at all, and refuses one.
    pub fn is_silent(self) -> bool {
        matches!(self, Opcode::Forget | Opcode::BatchForget | Opcode::Interrupt | Opcode::NotifyReply)
    }
}
