// SPDX-License-Identifier: Apache-2.0

//! Attributes of inodes as they cross the wire.

use crate::cbor::{self, Plain, Reader};
use crate::file_kind::FileKind;
use crate::ids::InodeId;
use crate::time::Time;
use minicbor::encode::Write;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

/// Attributes of an inode. Encoded as an array of the fields in this order, without the last one if that is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attr {
    /// The inode.
    pub inode: InodeId,
    /// What it is.
    pub kind: FileKind,
    /// Permission bits with setuid, setgid and sticky (0o7777).
    pub perm: u16,
    /// Number of links.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node (Linux `dev_t` encoding of `mknod`).
    pub rdev: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last access.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of attributes.
    pub ctime: Time,
    /// Birth.
    pub btime: Time,
    /// Bytes in use on storage, if that is known to differ from the size.
    pub allocated: Option<u64>,
    /// It is known to have no extended attribute, and so no access control list: nobody needs to ask for one.
    pub no_xattrs: bool,
    /// It is a directory that is split, or a fragment of one: number of links, size and times are of this fragment alone.
    pub split: Option<bool>,
}

/// Fields that are always there; those behind came later.
const FIRST_FIELDS: u64 = 12;
const FIELDS: u64 = 15;

impl<C> Encode<C> for Attr {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        let mut plain = Plain::<{ Plain::<0>::max_bytes(Attr::PLAIN_ITEMS) }>::default();
        self.write(&mut plain);
        plain.write(e)
    }
}

impl<'b, C> Decode<'b, C> for Attr {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "these are no attributes of an inode", Attr::read)
    }
}

impl Attr {
    /// Items that [`Attr::write`] needs room for.
    pub(crate) const PLAIN_ITEMS: usize = 24;

    pub(crate) fn write<const N: usize>(&self, plain: &mut Plain<N>) {
        plain.array(if self.split.is_some() { FIELDS } else { FIELDS - 1 });
        plain.number(self.inode.0).number(self.kind as u8).number(self.perm).number(self.nlink);
        plain.number(self.uid).number(self.gid).number(self.rdev).number(self.size);
        plain.time(self.atime).time(self.mtime).time(self.ctime).time(self.btime);
        plain.optional(self.allocated).flag(self.no_xattrs);
        if let Some(split) = self.split {
            plain.flag(split);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Option<Attr> {
        let fields = reader.array().filter(|fields| *fields >= FIRST_FIELDS)?;
        let mut attr = Attr {
            inode: InodeId(reader.number()?),
            kind: FileKind::from_number(reader.number()?)?,
            perm: reader.number()?,
            nlink: reader.number()?,
            uid: reader.number()?,
            gid: reader.number()?,
            rdev: reader.number()?,
            size: reader.number()?,
            atime: reader.time()?,
            mtime: reader.time()?,
            ctime: reader.time()?,
            btime: reader.time()?,
            allocated: None,
            no_xattrs: false,
            split: None,
        };
        if fields > FIRST_FIELDS {
            attr.allocated = reader.optional(Reader::number)?;
        }
        if fields > FIRST_FIELDS + 1 {
            attr.no_xattrs = reader.flag()?;
        }
        if fields > FIRST_FIELDS + 2 {
            attr.split = reader.optional(Reader::flag)?;
        }
        reader.skip_from(FIELDS, fields)?;
        Some(attr)
    }

    /// Whether it is a directory that is split, or a fragment of one.
    pub fn is_split(&self) -> bool {
        self.split == Some(true)
    }

    /// `st_mode`: kind and permission bits.
    pub fn mode(&self) -> u32 {
        self.kind.mode_bits() | u32::from(self.perm)
    }

    /// Units of 512 bytes that `st_blocks` reports: what is in use, in whole 4 KiB blocks.
    pub fn blocks(&self) -> u64 {
        self.allocated.unwrap_or(self.size).div_ceil(4096) * 8
    }
}
