// SPDX-License-Identifier: Apache-2.0

//! Sizes and offsets as the kernel's header gives them: a changed field would otherwise shift all that follow.

use super::args::*;
use super::header::*;
use super::init::*;
use super::notify::*;
use super::opcode::Opcode;
use super::replies::*;
use std::mem::{offset_of, size_of};

/// Asserts the size of each structure.
macro_rules! sizes {
    ($($ty:ty = $size:literal),* $(,)?) => {
        $(assert_eq!(size_of::<$ty>(), $size, "size of {}", stringify!($ty));)*
    };
}

#[test]
fn sizes_are_the_kernels() {
    sizes! {
        InHeader = 40, OutHeader = 16, ExtHeader = 8, InitIn = 64, InitInShort = 16, InitOut = 64,
        ForgetIn = 8, ForgetOne = 16, BatchForgetIn = 8, GetattrIn = 16, SetattrIn = 88, MknodIn = 16, MkdirIn = 8,
        RenameIn = 8, Rename2In = 16, LinkIn = 8, OpenIn = 8, CreateIn = 16, ReleaseIn = 24, FlushIn = 24, ReadIn = 40,
        WriteIn = 40, FsyncIn = 16, SetxattrIn = 16, SetxattrInShort = 8, GetxattrIn = 8, LkIn = 48, AccessIn = 8,
        InterruptIn = 8, FallocateIn = 32, LseekIn = 24, CopyFileRangeIn = 56, StatxIn = 24, SyncfsIn = 8,
        AttrOutBody = 88, EntryOut = 128, AttrOut = 104, OpenOut = 16, WriteOut = 8, StatfsOut = 80, GetxattrOut = 8,
        FileLock = 24, LkOut = 24, LseekOut = 8, CopyFileRangeOut = 8, Dirent = 24, SxTime = 16, StatxBody = 256,
        StatxOut = 288, InvalInodeOut = 24, InvalEntryOut = 16, DeleteOut = 24, StoreOut = 24, RetrieveOut = 32,
        PruneOut = 16,
    }
}

#[test]
fn offsets_are_the_kernels() {
    assert_eq!(offset_of!(InHeader, total_extlen), 36);
    assert_eq!(offset_of!(InHeader, nodeid), 16);
    assert_eq!(offset_of!(InitOut, max_write), 20);
    assert_eq!(offset_of!(InitOut, max_pages), 28);
    assert_eq!(offset_of!(InitOut, flags2), 32);
    assert_eq!(offset_of!(InitOut, request_timeout), 40);
    assert_eq!(offset_of!(SetattrIn, atime), 32);
    assert_eq!(offset_of!(SetattrIn, mode), 68);
    assert_eq!(offset_of!(SetattrIn, uid), 76);
    assert_eq!(offset_of!(EntryOut, attr), 40);
    assert_eq!(offset_of!(AttrOutBody, mode), 60);
    assert_eq!(offset_of!(AttrOutBody, flags), 84);
    assert_eq!(offset_of!(LkIn, lk_flags), 40);
    assert_eq!(offset_of!(WriteIn, write_flags), 20);
    assert_eq!(offset_of!(StatxBody, ino), 32);
    assert_eq!(offset_of!(StatxBody, atime), 64);
    assert_eq!(offset_of!(StatxBody, rdev_major), 128);
    assert_eq!(offset_of!(StatxOut, stat), 32);
    assert_eq!(offset_of!(StatfsOut, bsize), 40);
}

#[test]
fn clone_ioctl_is_ior_229_0_u32() {
    let ior = (2u32 << 30) | ((size_of::<u32>() as u32) << 16) | (229 << 8);
    assert_eq!(super::DEV_IOC_CLONE, ior);
}

#[test]
fn every_opcode_survives_its_number() {
    for opcode in Opcode::ALL {
        assert_eq!(Opcode::from_number(*opcode as u32), Some(*opcode));
    }
    assert_eq!(Opcode::ALL.len(), 51);
    for unknown in [0, 7, 19, 54, 4096, u32::MAX] {
        assert_eq!(Opcode::from_number(unknown), None);
    }
}
