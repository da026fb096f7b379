// SPDX-License-Identifier: Apache-2.0

//! The header of the file: making it, finding the newest at open, writing the next.
//!
//! # Failure model
//! - There are two places, of two copies each, and commits take turns between them. A header that is torn, lost or late
//!   leaves the one before it whole; its checksum tells.
//! - One damaged copy of the newest header is made good at open. Where both are lost, the header before it is used, as
//!   after a crash before them: that cannot be told apart here. The log is then read from that checkpoint on, and refuses
//!   where a segment is missing.
//! - After an error in writing or syncing nobody knows which header is on disk. Opening writes and syncs the one that it
//!   found, so that what was read from then on stays.
//! - Where no copy is whole, opening is an error that says what is wrong with each.

use std::sync::atomic::{AtomicBool, AtomicU64};

use super::super::page::PAGE_BYTES;
use super::super::root::{HEADER_PAGES, Root};
use super::{GROWTH_BYTES, PageFile, offset};
use crate::StoreError;
use crate::error::is_out_of_space;
use crate::log::disk::LogDisk;

impl PageFile {
    /// A new file with nothing but its header, durable but for its name.
    pub(in crate::tree) fn make(
        disk: &dyn LogDisk,
        name: &str,
        max_bytes: u64,
    ) -> Result<(PageFile, Root), StoreError> {
        let path = format!("{}/{name}", disk.location());
        let bytes = GROWTH_BYTES;
        let file = disk.create(name, bytes).map_err(|error| match is_out_of_space(&error) {
            true => StoreError::OrderedFull { store: path.clone(), reason: error.to_string() },
            false => StoreError::io("create", &path, error),
        })?;
        let file =
            PageFile { file, path, max_bytes, bytes: AtomicU64::new(bytes), lacks_reserve: AtomicBool::new(false) };
        let root = Root { end: HEADER_PAGES, ..Root::default() };
        file.write_header(&root)?;
        Ok((file, root))
    }

    /// Opens the file, and makes durable the header that it found.
    pub(in crate::tree) fn open(
        disk: &dyn LogDisk,
        name: &str,
        max_bytes: u64,
    ) -> Result<(PageFile, Root), StoreError> {
        let path = format!("{}/{name}", disk.location());
        let failed = |error| StoreError::io("open", &path, error);
        let file = disk.open(name).map_err(failed)?;
        let bytes = AtomicU64::new(file.bytes().map_err(failed)?);
        let file = PageFile { file, path, max_bytes, bytes, lacks_reserve: AtomicBool::new(false) };
        let (mut newest, mut reasons) = (None::<Root>, Vec::new());
        for page in 0..HEADER_PAGES {
            let mut header = [0; PAGE_BYTES];
            let read = file.file.read_at(offset(page), &mut header).map_err(|e| e.to_string());
            match read.and_then(|()| Root::decode(&header)) {
                Ok(root) if newest.is_none_or(|newest| root.commit > newest.commit) => newest = Some(root),
                Ok(_) => {}
                Err(reason) => reasons.push(format!("header {page}: {reason}")),
            }
        }
        let root = newest.ok_or_else(|| file.damaged(0, &reasons.join("; ")))?;
        if !reasons.is_empty() {
            tracing::warn!(
                file = file.path,
                ?reasons,
                "a copy of the header is damaged, or was being written; another is used"
            );
        }
        file.write_header(&root)?;
        Ok((file, root))
    }

    /// Writes both copies of a header and syncs. After an error nobody knows which header is on disk.
    pub(in crate::tree) fn write_header(&self, root: &Root) -> Result<(), StoreError> {
        let header = root.encode();
        let written = self.file.write_at(offset(root.slot()), &header);
        let written = written.and_then(|()| self.file.write_at(offset(root.slot() + 1), &header));
        let synced = written.and_then(|()| self.file.sync());
        synced.map_err(|e| StoreError::io("write the header of", &self.path, e))
    }
}
