// SPDX-License-Identifier: Apache-2.0

//! What is made, and whose it is.

use crate::cbor::{self, Reader};
use crate::ids::InodeId;
use crate::name::Name;
use minicbor::{Decode, Decoder, Encode, decode};

/// Owner and group of what is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode)]
pub struct Owner {
    /// User.
    #[n(0)]
    pub uid: u32,
    /// Group.
    #[n(1)]
    pub gid: u32,
}

impl Owner {
    /// Reads it as the codec does.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Owner> {
        let fields = reader.array().filter(|fields| *fields >= 2)?;
        let owner = Owner { uid: reader.number()?, gid: reader.number()? };
        reader.skip_from(2, fields)?;
        Some(owner)
    }
}

impl<'b, C> Decode<'b, C> for Owner {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "this is no owner", Owner::read)
    }
}

/// A new name of something new, for [`super::MetaOp::Create`] and its kin.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct NewEntry {
    /// The directory.
    #[n(0)]
    pub parent: InodeId,
    /// The name in it.
    #[n(1)]
    pub name: Name,
    /// Permission bits (0o7777).
    #[n(2)]
    pub perm: u16,
    /// Bits that are taken away, unless the directory has a default ACL, which counts instead; 0 if that is done already.
    #[n(3)]
    pub umask: u16,
}

impl<'b, C> Decode<'b, C> for NewEntry {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "this is no new entry, or one without a valid name", NewEntry::read)
    }
}

impl NewEntry {
    fn read(reader: &mut Reader<'_>) -> Option<NewEntry> {
        let fields = reader.array().filter(|fields| *fields >= 4)?;
        let entry = NewEntry {
            parent: InodeId(reader.number()?),
            name: Name::new(reader.bytes()?).ok()?,
            perm: reader.number()?,
            umask: reader.number()?,
        };
        reader.skip_from(4, fields)?;
        Some(entry)
    }
}
