// SPDX-License-Identifier: Apache-2.0

//! What handlers are given and what they answer, as owned values without the protocol's packing.

use crate::buf::WriteData;
use crate::errno::Errno;
use bytes::Bytes;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The kernel's name for an inode: whatever the handler gave in an [`Entry`]; the root is [`Ino::ROOT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

impl Ino {
    /// The root directory.
    pub const ROOT: Ino = Ino(crate::abi::ROOT_ID);
}

/// A handler's name for an open file or directory: whatever it gave in an [`Opened`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Fh(pub u64);

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The kernel's number of the request, for logs.
    pub unique: u64,
    /// File system user id of the caller.
    pub uid: u32,
    /// File system group id of the caller.
    pub gid: u32,
    /// The calling thread; zero when the kernel asks for itself.
    pub pid: u32,
}

/// A request that is about to be served.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Its number.
    pub opcode: u32,
    /// The inode; of names, their directory.
    pub ino: Ino,
    /// When it was taken up.
    pub came: Instant,
    /// How long before that it was read from the kernel, or could have been, behind others of the same turn of its thread.
    pub queued: Duration,
}

/// A point in time; before 1970 the seconds are negative and the nanoseconds still count forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub secs: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp { secs: since.as_secs() as i64, nanos: since.subsec_nanos() },
            Err(before) => {
                let before = before.duration();
                let (secs, nanos) = (before.as_secs() as i64, before.subsec_nanos());
                if nanos == 0 {
                    Timestamp { secs: -secs, nanos }
                } else {
                    Timestamp { secs: -secs - 1, nanos: 1_000_000_000 - nanos }
                }
            }
        }
    }
}

/// Attributes of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// What `stat` shows as the inode number; need not be the kernel's [`Ino`].
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Space taken, in units of 512 bytes.
    pub blocks: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the content.
    pub mtime: Timestamp,
    /// Last change of the attributes.
    pub ctime: Timestamp,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Number of names.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node.
    pub rdev: u32,
    /// Best size of reads and writes, in bytes.
    pub blksize: u32,
}

/// A name's inode, and for how long the kernel may believe it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The inode; zero says that the name does not exist, for `entry_ttl`.
    pub ino: Ino,
    /// Makes an inode number that is used again another one.
    pub generation: u64,
    /// Attributes.
    pub attr: Attr,
    /// How long the kernel may use the name without asking.
    pub entry_ttl: Duration,
    /// How long the kernel may use the attributes without asking.
    pub attr_ttl: Duration,
}

impl Entry {
    /// There is no such name, and the kernel may believe that for so long.
    pub fn missing(entry_ttl: Duration) -> Entry {
        let zero = Timestamp::default();
        let attr = Attr {
            ino: 0,
            size: 0,
            blocks: 0,
            atime: zero,
            mtime: zero,
            ctime: zero,
            mode: 0,
            nlink: 0,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 0,
        };
        Entry { ino: Ino(0), generation: 0, attr, entry_ttl, attr_ttl: Duration::ZERO }
    }
}

/// Answer to getattr and setattr.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// Attributes.
    pub attr: Attr,
    /// How long the kernel may use them without asking.
    pub ttl: Duration,
}

/// How the kernel treats an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// Every read and write comes here; the page cache is not used.
    pub direct_io: bool,
    /// Pages cached by an earlier open stay.
    pub keep_cache: bool,
    /// `lseek` fails.
    pub nonseekable: bool,
    /// A directory's listing may be cached (opendir only).
    pub cache_dir: bool,
    /// No file position at all.
    pub stream: bool,
    /// No flush request on close.
    pub noflush: bool,
    /// Direct writes to one file run in parallel.
    pub parallel_direct_writes: bool,
}

/// Answer to open and opendir.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opened {
    /// Comes back with every request on the open file.
    pub fh: Fh,
    /// How the kernel treats it.
    pub mode: OpenMode,
}

/// Answer to create and tmpfile.
#[derive(Clone, Copy, Debug)]
pub struct Created {
    /// The new file.
    pub entry: Entry,
    /// It, opened.
    pub opened: Opened,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenArgs {
    /// `O_…` flags; `O_CREAT`, `O_EXCL` and `O_NOCTTY` were taken care of by the kernel. `O_TRUNC` is there
    /// and is the handler's to do (`ATOMIC_O_TRUNC`).
    pub flags: i32,
    /// With `O_TRUNC`: drop setuid and setgid bits.
    pub kill_suidgid: bool,
}

/// What a new inode is like.
#[derive(Clone, Copy, Debug)]
pub struct NewInode {
    /// Type and permissions; the umask is already applied, unless [`Features::dont_mask`].
    pub mode: u32,
    /// The caller's umask.
    pub umask: u32,
    /// Device number, for mknod of a device.
    pub rdev: u32,
}

/// A time that setattr sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The file system's own present time.
    Now,
    /// This time.
    At(Timestamp),
}

/// What setattr changes; what is none stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttr {
    /// Permissions (the type bits are there and must be ignored).
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length in bytes.
    pub size: Option<u64>,
    /// Access time.
    pub atime: Option<SetTime>,
    /// Modification time.
    pub mtime: Option<SetTime>,
    /// Change time (only with the kernel's write-back cache, which is not used).
    pub ctime: Option<Timestamp>,
    /// The open file, when the call was on one (`ftruncate`).
    pub fh: Option<Fh>,
    /// The lock owner, when the kernel gives one.
    pub lock_owner: Option<u64>,
    /// The caller has no right to keep setuid and setgid bits: drop them on this chown or truncate.
    pub kill_suidgid: bool,
}

/// A read.
#[derive(Clone, Copy, Debug)]
pub struct ReadArgs {
    /// Open file.
    pub fh: Fh,
    /// First byte.
    pub offset: u64,
    /// Bytes wanted; fewer mean the end of the file.
    pub size: u32,
    /// `O_…` flags of the open file.
    pub flags: i32,
    /// Lock owner, when given.
    pub lock_owner: Option<u64>,
}

/// A write, without its data.
#[derive(Clone, Copy, Debug)]
pub struct WriteArgs {
    /// Open file.
    pub fh: Fh,
    /// First byte.
    pub offset: u64,
    /// `O_…` flags of the open file.
    pub flags: i32,
    /// Lock owner, when given.
    pub lock_owner: Option<u64>,
    /// From the page cache: written by the kernel later, `fh` and the caller are guesses.
    pub from_cache: bool,
    /// Drop setuid and setgid bits.
    pub kill_suidgid: bool,
}

/// The last close.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseArgs {
    /// Open file.
    pub fh: Fh,
    /// `O_…` flags of the open file.
    pub flags: i32,
    /// Lock owner, when given.
    pub lock_owner: u64,
    /// Flush as well.
    pub flush: bool,
    /// Drop the owner's flock.
    pub flock_unlock: bool,
}

/// What a read gives. Segments go to the kernel as they are, with one system call.
#[derive(Debug)]
pub enum ReadData {
    /// One piece that the handler made.
    Owned(Vec<u8>),
    /// One shared piece.
    Shared(Bytes),
    /// Several pieces, in order.
    Segments(Vec<Bytes>),
}

impl ReadData {
    /// Total length in bytes.
    pub fn len(&self) -> usize {
        match self {
            ReadData::Owned(data) => data.len(),
            ReadData::Shared(data) => data.len(),
            ReadData::Segments(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Vec<u8>> for ReadData {
    fn from(data: Vec<u8>) -> ReadData {
        ReadData::Owned(data)
    }
}

impl From<Bytes> for ReadData {
    fn from(data: Bytes) -> ReadData {
        ReadData::Shared(data)
    }
}

impl From<Vec<Bytes>> for ReadData {
    fn from(parts: Vec<Bytes>) -> ReadData {
        ReadData::Segments(parts)
    }
}

impl From<WriteData> for ReadData {
    fn from(data: WriteData) -> ReadData {
        ReadData::Shared(data.into_bytes())
    }
}

/// Answer to statfs.
#[derive(Clone, Copy, Debug)]
pub struct StatFs {
    /// Unit of the next three, in bytes.
    pub block_bytes: u32,
    /// All blocks.
    pub blocks: u64,
    /// Free blocks.
    pub blocks_free: u64,
    /// Free blocks for others than root.
    pub blocks_available: u64,
    /// All inodes.
    pub files: u64,
    /// Free inodes.
    pub files_free: u64,
    /// Longest name in bytes.
    pub name_max: u32,
}

/// A byte-range lock, as `struct flock` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// First byte.
    pub start: u64,
    /// Last byte, included; `i64::MAX` is the end of the file.
    pub end: u64,
    /// `F_RDLCK`, `F_WRLCK` or `F_UNLCK`.
    pub kind: i32,
    /// The holder's process.
    pub pid: u32,
}

/// A lock request.
#[derive(Clone, Copy, Debug)]
pub struct LockArgs {
    /// Open file.
    pub fh: Fh,
    /// Who owns the lock: a process's table of files, or an open file for flock.
    pub owner: u64,
    /// The lock.
    pub lock: Lock,
    /// Wait for it.
    pub wait: bool,
}

/// A copy inside the file system.
#[derive(Clone, Copy, Debug)]
pub struct CopyArgs {
    /// Source.
    pub ino_in: Ino,
    /// Source, open.
    pub fh_in: Fh,
    /// First byte of the source.
    pub offset_in: u64,
    /// Destination.
    pub ino_out: Ino,
    /// Destination, open.
    pub fh_out: Fh,
    /// First byte of the destination.
    pub offset_out: u64,
    /// Bytes to copy.
    pub len: u64,
}

/// Answer to statx.
#[derive(Clone, Copy, Debug)]
pub struct StatxReply {
    /// Attributes.
    pub attr: Attr,
    /// Time of creation, where known.
    pub btime: Option<Timestamp>,
    /// How long the kernel may use them without asking.
    pub ttl: Duration,
}

/// What the handler asks of the kernel beyond the session's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `fcntl` locks come to the handler instead of staying in this kernel.
    pub posix_locks: bool,
    /// `flock` comes to the handler.
    pub flock: bool,
    /// POSIX ACLs: the kernel checks what the handler keeps as extended attributes. Needs `default_permissions`.
    pub posix_acl: bool,
    /// New inodes' modes come without the umask applied.
    pub dont_mask: bool,
    /// Lookups of `.` and `..` of any inode work (for NFS export).
    pub export: bool,
}

/// What was agreed with the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The kernel's minor version of the protocol.
    pub kernel_minor: u32,
    /// Both words of INIT flags in force.
    pub flags: u64,
    /// Largest write in bytes.
    pub max_write_bytes: u32,
    /// The kernel's own limit of read-ahead in bytes when it asked.
    pub max_readahead_bytes: u32,
}

impl Negotiated {
    /// Whether [`crate::Notifier::inc_epoch`] works (protocol 7.44, Linux 6.16).
    pub fn has_epochs(&self) -> bool {
        self.kernel_minor >= crate::abi::MINOR_EPOCH
    }

    /// Whether requests come over io_uring.
    pub fn over_io_uring(&self) -> bool {
        self.flags & crate::abi::init::OVER_IO_URING != 0
    }
}

/// Result of an operation.
pub type Result<T> = std::result::Result<T, Errno>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_count_forward() {
        let time = UNIX_EPOCH - Duration::from_millis(1500);
        assert_eq!(Timestamp::from(time), Timestamp { secs: -2, nanos: 500_000_000 });
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(3)), Timestamp { secs: -3, nanos: 0 });
        assert_eq!(Timestamp::from(UNIX_EPOCH + Duration::from_nanos(7)), Timestamp { secs: 0, nanos: 7 });
    }
}
