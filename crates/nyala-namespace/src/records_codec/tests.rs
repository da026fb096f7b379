// SPDX-License-Identifier: Apache-2.0

//! Rows are the same bytes as with the codec's own code.

use super::*;
use minicbor::Encode;
use nyala_wire::{ErasureCode, Pattern, PoolId, TargetId, Time, codec};
use proptest::prelude::*;

/// The same rows with derived code.
mod derived {
    use super::*;

    #[derive(Debug, PartialEq, Encode, Decode)]
    pub struct Inode {
        #[n(0)]
        pub kind: FileKind,
        #[n(1)]
        pub perm: u16,
        #[n(2)]
        pub nlink: u32,
        #[n(3)]
        pub uid: u32,
        #[n(4)]
        pub gid: u32,
        #[n(5)]
        pub size: u64,
        #[n(6)]
        pub atime: Time,
        #[n(7)]
        pub mtime: Time,
        #[n(8)]
        pub ctime: Time,
        #[n(9)]
        pub btime: Time,
        #[n(10)]
        pub rdev: Option<u32>,
        #[n(11)]
        pub dir: Option<Dir>,
        #[n(12)]
        pub file: Option<File>,
        #[n(13)]
        pub xattr_bytes: Option<u32>,
        #[n(14)]
        pub later: Option<Vec<String>>,
    }

    #[derive(Debug, PartialEq, Encode, Decode)]
    pub struct Dir {
        #[n(0)]
        pub parent: InodeId,
        #[n(1)]
        pub entries: u64,
        #[n(2)]
        pub pattern: Option<StripePattern>,
        #[n(3)]
        pub fragments: Option<Vec<Fragment>>,
        #[n(4)]
        pub range: Option<CookieRange>,
        #[n(5)]
        pub depth: Option<u8>,
        #[n(6)]
        pub later: Option<Vec<String>>,
    }

    #[derive(Debug, PartialEq, Encode, Decode)]
    pub struct File {
        #[n(0)]
        pub layout: Layout,
        #[n(1)]
        pub inline_version: Option<u64>,
        #[n(2)]
        pub inline_limit: u32,
        #[n(3)]
        pub allocated: Option<u64>,
        #[n(4)]
        pub unnamed: Option<bool>,
        #[n(5)]
        pub tail: Option<ByteVec>,
        #[n(6)]
        pub later: Option<Vec<String>>,
    }

    #[derive(Debug, PartialEq, Encode, Decode)]
    pub struct Entry {
        #[n(0)]
        pub name: Name,
        #[n(1)]
        pub inode: InodeId,
        #[n(2)]
        pub kind: FileKind,
        #[n(3)]
        pub followed: Option<bool>,
        #[n(4)]
        pub later: Option<Vec<String>>,
    }
}

/// Values from numbers that proptest makes.
struct Tape {
    numbers: std::vec::IntoIter<u64>,
    /// Fields that later versions add.
    later: bool,
}

impl Tape {
    fn number(&mut self) -> u64 {
        let number = self.numbers.next().unwrap_or(0);
        number >> (number % 64)
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.numbers.next().is_some_and(|number| number % 2 == 1).then(|| make(self))
    }

    fn time(&mut self) -> Time {
        let seconds = self.number() as i64;
        Time { seconds: if self.number() % 2 == 1 { !seconds } else { seconds }, nanos: self.number() as u32 }
    }

    fn later(&mut self) -> Option<Vec<String>> {
        self.maybe(|_| vec!["a".to_owned(), "b".to_owned()]).filter(|_| self.later)
    }

    fn list<T>(&mut self, least: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let many = least + self.number() % 30;
        (0..many).map(|_| make(self)).collect()
    }

    fn kind(&mut self) -> FileKind {
        FileKind::from_number((self.number() % 7) as u8).unwrap()
    }

    fn inode(&mut self) -> derived::Inode {
        derived::Inode {
            kind: self.kind(),
            perm: self.number() as u16,
            nlink: self.number() as u32,
            uid: self.number() as u32,
            gid: self.number() as u32,
            size: self.number(),
            atime: self.time(),
            mtime: self.time(),
            ctime: self.time(),
            btime: self.time(),
            rdev: self.maybe(|tape| tape.number() as u32),
            dir: self.maybe(Tape::dir),
            file: self.maybe(Tape::file),
            xattr_bytes: self.maybe(|tape| tape.number() as u32),
            later: self.later(),
        }
    }

    fn dir(&mut self) -> derived::Dir {
        derived::Dir {
            parent: InodeId(self.number()),
            entries: self.number(),
            pattern: self.maybe(|tape| StripePattern {
                pattern: Pattern::Mirror,
                chunk_bytes: tape.number() as u32,
                num_targets: tape.number() as u16,
                pool: PoolId(tape.number() as u16),
                inline_bytes: tape.number() as u32,
                code: tape.maybe(|tape| ErasureCode { data: tape.number() as u8, parity: tape.number() as u8 }),
            }),
            fragments: self
                .maybe(|tape| tape.list(0, |tape| Fragment { inode: InodeId(tape.number()), upto: tape.number() })),
            range: self.maybe(|tape| CookieRange { from: tape.number(), upto: tape.number() }),
            depth: self.maybe(|tape| tape.number() as u8),
            later: self.later(),
        }
    }

    fn file(&mut self) -> derived::File {
        derived::File {
            layout: Layout {
                pattern: Pattern::Raid0,
                chunk_bytes: (self.number() as u32).max(1),
                targets: self.list(1, |tape| TargetId(tape.number() as u16)),
                moves: 0,
                code: None,
            },
            inline_version: self.maybe(Tape::number),
            inline_limit: self.number() as u32,
            allocated: self.maybe(Tape::number),
            unnamed: self.maybe(|tape| tape.number() % 2 == 0),
            tail: self.maybe(|tape| tape.list(0, |tape| tape.number() as u8).into()),
            later: self.later(),
        }
    }

    fn entry(&mut self) -> derived::Entry {
        let name: Vec<u8> = self.list(1, |tape| b'a' + (tape.number() % 26) as u8);
        derived::Entry {
            name: Name::new(&name).unwrap(),
            inode: InodeId(self.number()),
            kind: self.kind(),
            followed: self.maybe(|tape| tape.number() % 2 == 0),
            later: self.later(),
        }
    }
}

/// Decodes what derived code encoded; without later fields that is the same bytes again, and cut short it is nothing.
fn same<'b, T>(bytes: &'b [u8], later: bool) -> Result<(), TestCaseError>
where
    T: Encode<()> + Decode<'b, ()> + std::fmt::Debug,
{
    let value: T = codec::decode(bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
    if !later {
        prop_assert_eq!(codec::encode(&value), bytes);
    }
    for cut in 0..bytes.len() {
        prop_assert!(codec::decode::<T>(&bytes[..cut]).is_err());
    }
    Ok(())
}

proptest! {
    #[test]
    fn rows_are_the_same_bytes(numbers in proptest::collection::vec(any::<u64>(), 0..200), later in any::<bool>()) {
        let mut tape = Tape { numbers: numbers.into_iter(), later };
        let (inode, entry) = (codec::encode(&tape.inode()), codec::encode(&tape.entry()));
        same::<InodeRecord>(&inode, later)?;
        same::<EntryRecord>(&entry, later)?;
    }

    #[test]
    fn what_derived_code_refuses_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0..60_usize, to in any::<u8>(), numbers in proptest::collection::vec(any::<u64>(), 0..100)) {
        prop_assert_eq!(codec::decode::<InodeRecord>(&bytes).is_ok(), codec::decode::<derived::Inode>(&bytes).is_ok());
        let mut row = codec::encode(&Tape { numbers: numbers.into_iter(), later: false }.inode());
        if let Some(byte) = row.get_mut(at) {
            *byte = to;
        }
        if codec::decode::<InodeRecord>(&row).is_ok() {
            prop_assert!(codec::decode::<derived::Inode>(&row).is_ok());
        }
    }
}
