// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of what is on disk: `crates/nyala-fuzz` runs them. Each takes any bytes, says whether they were accepted, and
//! panics on a wrong result. Where a checksum stands before the decoder, the bytes are tried as they are and with a
//! checksum that fits.

use crate::log::format::{
    LOG_VERSION, RECORD_HEAD_BYTES, RECORD_MAGIC, SEGMENT_HEADER_BYTES, SegmentHeader, decode_record, encode_record,
    stored_bytes,
};
use crate::log::segment;
use crate::own_dir;
use crate::tree::cell::Row;
use crate::tree::page::{PAGE_BYTES, Page};
use crate::tree::root::{HEADER_PAGES, Root};
use crate::tree::space::FreePages;
use nyala_wire::checksum::crc32c;
use std::path::Path;

const SALT: u32 = 5;

/// A record of the log, as recovery reads it.
pub fn log_record(bytes: &[u8]) -> bool {
    let mut mended = bytes.to_vec();
    if let Some(head) = mended.first_chunk_mut::<RECORD_HEAD_BYTES>() {
        head[4..8].copy_from_slice(&RECORD_MAGIC);
        head[12..14].copy_from_slice(&LOG_VERSION.to_le_bytes());
        let payload = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        if let Some(whole) = mended.get_mut(..stored_bytes(payload)) {
            let crc = crc32c(&whole[4..]) ^ SALT;
            whole[..4].copy_from_slice(&crc.to_le_bytes());
        }
    }
    record(bytes) | record(&mended)
}

fn record(bytes: &[u8]) -> bool {
    let Some(record) = decode_record(bytes, SALT) else { return false };
    assert!(record.stored_bytes <= bytes.len() && record.payload.len() + RECORD_HEAD_BYTES <= record.stored_bytes);
    let mut again = Vec::new();
    encode_record(&mut again, SALT, record.lsn, record.durable, record.kind, record.payload);
    assert_eq!(again.len(), record.stored_bytes);
    assert_eq!(decode_record(&again, SALT), Some(record));
    assert_eq!(decode_record(&again, SALT + 1), None, "of another segment");
    true
}

/// The header of a log segment, and the name of its file.
pub fn log_segment(bytes: &[u8]) -> bool {
    const CRC_AT: usize = 52;
    let mut header = [0; SEGMENT_HEADER_BYTES as usize];
    let len = bytes.len().min(CRC_AT);
    header[..len].copy_from_slice(&bytes[..len]);
    let crc = crc32c(&header[..CRC_AT]);
    header[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    let decode = |bytes: &[u8]| {
        let header = SegmentHeader::decode(bytes);
        header.is_ok_and(|header| {
            assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
            true
        })
    };
    let name = std::str::from_utf8(bytes).ok().and_then(|name| Some((name, segment::parse_name(name)?)));
    if let Some((name, sequence)) = name {
        assert_eq!(segment::name(sequence), name);
    }
    decode(bytes) | decode(&header) | name.is_some()
}

/// A page of the tree: the level, then the page's first bytes. What is taken for a page can be read through and through.
pub fn tree_page(bytes: &[u8]) -> bool {
    let Some((level, bytes)) = bytes.split_first() else { return false };
    let mut page = Box::new([0; PAGE_BYTES]);
    let len = bytes.len().min(PAGE_BYTES);
    page[..len].copy_from_slice(&bytes[..len]);
    let level = level % 3;
    let Some(page) = Page::decode(page, level) else { return false };
    assert!(!page.is_empty());
    let mut total = 0;
    for index in 0..page.len() {
        let (key, raw) = (page.key(index), page.raw(index));
        assert!(key.len() <= raw.len());
        total += raw.len();
        match level {
            0 => match page.row(index) {
                Row::Inline(value) => assert!(raw.ends_with(value) && key.len() + value.len() < raw.len()),
                Row::Large(value) => assert!(raw.ends_with(&value.crc.to_le_bytes())),
            },
            _ => assert!(raw.ends_with(&page.child(index).crc.to_le_bytes())),
        }
        match page.search(key) {
            Ok(found) => assert_eq!(page.key(found), key),
            Err(place) => assert!(place <= page.len()),
        }
        assert!(page.child_index(key) < page.len());
    }
    assert!(total <= PAGE_BYTES, "cells do not overlap");
    true
}

/// A header page of the tree.
pub fn tree_root(bytes: &[u8]) -> bool {
    const CRC_AT: usize = PAGE_BYTES - 4;
    let mut page = [0; PAGE_BYTES];
    let len = bytes.len().min(CRC_AT);
    page[..len].copy_from_slice(&bytes[..len]);
    let crc = crc32c(&page[..CRC_AT]);
    page[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    let decode = |page: &[u8]| {
        Root::decode(page).is_ok_and(|root| {
            assert_eq!(Root::decode(&root.encode()), Ok(root));
            assert!(root.slot() < HEADER_PAGES && root.free.pages() <= u64::from(u32::MAX));
            true
        })
    };
    decode(bytes) | decode(&page)
}

/// The tree's list of free pages: the number of pages of the file (u64), then the list.
pub fn free_pages(bytes: &[u8]) -> bool {
    let Some((end, list)) = bytes.split_first_chunk::<8>() else { return false };
    let end = u64::from_le_bytes(*end);
    let Some(mut free) = FreePages::decode(list, HEADER_PAGES, end) else { return false };
    assert!(free.pages() <= end.saturating_sub(HEADER_PAGES));
    assert_eq!(FreePages::decode(&free.encode(), HEADER_PAGES, end).as_ref(), Some(&free));
    let pages = free.pages();
    if let Some(page) = free.take(1) {
        assert!((HEADER_PAGES..end).contains(&page) && free.pages() == pages - 1);
        free.add(page, 1);
        assert_eq!(free.pages(), pages);
    }
    true
}

/// The file that says whose a directory is.
pub fn identity(bytes: &[u8]) -> bool {
    let at = Path::new("fuzz");
    let kinds = [own_dir::Kind::MetaTarget, own_dir::Kind::StorageTarget, own_dir::Kind::StorageNode];
    let taken = kinds.map(|kind| {
        own_dir::parse(bytes, at, at, kind).is_ok_and(|identity| {
            let sealed = identity.clone().sealed().and_then(|sealed| toml::to_string(&sealed));
            let text = sealed.expect("what was text can be text again");
            let again = own_dir::parse(text.as_bytes(), at, at, kind).expect("what was written can be read");
            assert_eq!(own_dir::Identity { checksum: None, ..again }, own_dir::Identity { checksum: None, ..identity });
            true
        })
    });
    assert!(taken.iter().filter(|taken| **taken).count() <= 1, "a directory is of one kind");
    taken.contains(&true)
}
