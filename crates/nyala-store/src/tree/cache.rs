// SPDX-License-Identifier: Apache-2.0

//! Pages that were read and checked, in bounded memory.
//!
//! Each part has two generations: what is used goes to the younger one; when that is full it becomes the older one, and
//! what nobody used in the meantime is forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;

use super::cell::Pointer;
use super::page::{PAGE_BYTES, Page};

/// Parts with a lock each.
const PARTS: u64 = 16;

/// Page numbers are small and dense: one multiplication spreads them well enough.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Generation = HashMap<u64, (u32, Arc<Page>), BuildHasherDefault<PageHasher>>;

#[derive(Default)]
struct Part {
    young: Generation,
    old: Generation,
}

/// Checked pages by their pointers.
pub(crate) struct PageCache {
    parts: Vec<Mutex<Part>>,
    /// Pages of one generation of one part.
    generation_pages: usize,
}

impl PageCache {
    /// A cache of at most `bytes` of pages.
    pub(crate) fn new(bytes: usize) -> PageCache {
        let generation_pages = bytes / PAGE_BYTES / PARTS as usize / 2;
        PageCache { parts: (0..PARTS).map(|_| Mutex::default()).collect(), generation_pages }
    }

    fn part(&self, page: u64) -> &Mutex<Part> {
        &self.parts[(page % PARTS) as usize]
    }

    /// The page, if it is the one that the pointer vouches for.
    pub(crate) fn get(&self, pointer: Pointer) -> Option<Arc<Page>> {
        let mut part = self.part(pointer.page).lock();
        if let Some((crc, page)) = part.young.get(&pointer.page) {
            return (*crc == pointer.crc).then(|| page.clone());
        }
        let (crc, page) = part.old.remove(&pointer.page).filter(|(crc, _)| *crc == pointer.crc)?;
        self.put(&mut part, pointer.page, crc, page.clone());
        Some(page)
    }

    /// The leaf that a key belongs to, below a root at a level, if it and all above it are kept.
    pub(crate) fn leaf(&self, root: Pointer, level: u8, key: &[u8]) -> Option<Arc<Page>> {
        (0..level).try_fold(self.get(root)?, |page, _| self.get(page.child(page.child_index(key))))
    }

    /// Keeps a checked page, in place of one of the same number.
    pub(crate) fn insert(&self, pointer: Pointer, page: Arc<Page>) {
        self.put(&mut self.part(pointer.page).lock(), pointer.page, pointer.crc, page);
    }

    /// Memory of the pages that are kept, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let pages = |part: &Mutex<Part>| {
            let part = part.lock();
            part.young.len() + part.old.len()
        };
        (self.parts.iter().map(pages).sum::<usize>() * PAGE_BYTES) as u64
    }

    fn put(&self, part: &mut Part, number: u64, crc: u32, page: Arc<Page>) {
        if self.generation_pages == 0 {
            return;
        }
        if part.young.len() >= self.generation_pages {
            part.old = std::mem::take(&mut part.young);
        }
        part.young.insert(number, (crc, page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::cell::Row;
    use crate::tree::cells::Cells;

    #[test]
    fn bounded_and_never_another_page_of_the_same_number() {
        let mut cells = Cells::default();
        cells.push_row(b"k", Row::Inline(b"v"));
        let page = Arc::new(Page::decode(cells.encode(0..1, 0), 0).unwrap());
        let cache = PageCache::new(1 << 20);
        for number in 0..10_000 {
            cache.insert(Pointer { page: number, crc: 1 }, page.clone());
            cache.get(Pointer { page: 0, crc: 1 });
        }
        assert!(cache.get(Pointer { page: 0, crc: 1 }).is_some(), "what is used stays");
        assert!(cache.get(Pointer { page: 0, crc: 2 }).is_none());
        assert!(cache.get(Pointer { page: 5000, crc: 1 }).is_none());
        assert_eq!(cache.bytes(), (Arc::strong_count(&page) - 1) as u64 * PAGE_BYTES as u64);
        assert!(Arc::strong_count(&page) <= 257, "{} pages", Arc::strong_count(&page));
    }
}
