// SPDX-License-Identifier: Apache-2.0

//! A file as the page cache sees it, and as the disk does.

use nyala_wire::SplitMix64;

const SECTOR_BYTES: u64 = 512;

#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Resize(usize),
}

/// Content as written, content on disk, and what lies between.
#[derive(Clone, Default)]
pub(super) struct FileImage {
    content: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl FileImage {
    pub(super) fn durable(content: Vec<u8>) -> FileImage {
        FileImage { durable: content.clone(), content, pending: Vec::new() }
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        write(&mut self.content, offset, data);
        self.pending.push(Change::Write(offset, data.to_vec()));
    }

    /// What is on the disk changes, and so does what is read.
    pub(super) fn patch(&mut self, offset: usize, bytes: &[u8]) {
        write(&mut self.content, offset as u64, bytes);
        write(&mut self.durable, offset as u64, bytes);
    }

    pub(super) fn resize(&mut self, bytes: usize) {
        self.content.resize(bytes, 0);
        self.pending.push(Change::Resize(bytes));
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write(offset, data) => write(&mut self.durable, offset, &data),
                Change::Resize(bytes) => self.durable.resize(bytes, 0),
            }
        }
    }

    /// After a failed sync the pages count as clean: no later sync writes them.
    pub(super) fn fail_sync(&mut self) {
        self.pending.clear();
    }

    /// The disk keeps of the pending changes what chance gives: nothing, all, whole writes or single sectors.
    pub(super) fn cut_power(&mut self, random: &mut SplitMix64) {
        let mode = random.below(4);
        for change in std::mem::take(&mut self.pending) {
            match (change, mode) {
                (_, 0) => {}
                (Change::Resize(bytes), _) => {
                    if mode == 1 || random.coin() {
                        self.durable.resize(bytes, 0);
                    }
                }
                (Change::Write(offset, data), 1) => write(&mut self.durable, offset, &data),
                (Change::Write(offset, data), 2) => {
                    if random.coin() {
                        write(&mut self.durable, offset, &data);
                    }
                }
                (Change::Write(offset, data), _) => tear(&mut self.durable, offset, &data, random),
            }
        }
        self.content = self.durable.clone();
    }
}

fn write(image: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + data.len());
    if image.len() < end {
        image.resize(end, 0);
    }
    image[start..end].copy_from_slice(data);
}

fn tear(image: &mut Vec<u8>, offset: u64, data: &[u8], random: &mut SplitMix64) {
    let mut at = offset;
    while at < offset + data.len() as u64 {
        let next = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let piece = &data[(at - offset) as usize..data.len().min((next - offset) as usize)];
        if random.coin() {
            write(image, at, piece);
        }
        at = next;
    }
}
