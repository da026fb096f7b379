// SPDX-License-Identifier: Apache-2.0

//! For tests: what every page of the file is used for.

use super::Tree;
use super::cell::{Pointer, Row};
use super::root::HEADER_PAGES;
use super::space::FreePages;
use crate::StoreError;

impl Tree {
    /// What each page is: `header`, `branch`, `leaf`, `large`, `list` or `free`.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let root = *self.snapshot();
        let mut kinds = vec!["free"; root.end as usize];
        mark(&mut kinds, 0, HEADER_PAGES, "header");
        mark(&mut kinds, root.free.page, root.free.pages(), "list");
        if let Some((pointer, level)) = root.root {
            self.mark_below(pointer, level, (&[], None), &mut kinds);
        }
        kinds
    }

    /// Checks as well that a page has no key but those that a search would look for in it.
    fn mark_below(
        &self,
        pointer: Pointer,
        level: u8,
        (lower, upper): (&[u8], Option<&[u8]>),
        kinds: &mut [&'static str],
    ) {
        mark(kinds, pointer.page, 1, if level == 0 { "leaf" } else { "branch" });
        let page = self.page(pointer, level, false).unwrap();
        for index in 0..page.len() {
            let (key, after) = (page.key(index), (index + 1 < page.len()).then(|| page.key(index + 1)));
            assert!(lower <= key && upper.or(after).is_none_or(|upper| key < upper), "{key:?} is not in its place");
            assert!(after.is_none_or(|after| key < after), "{key:?} is not in order");
            let bounds = (if index == 0 { lower } else { key }, after.or(upper));
            match (level, (level == 0).then(|| page.row(index))) {
                (0, Some(Row::Large(large))) => mark(kinds, large.page, large.pages(), "large"),
                (0, _) => {}
                _ => self.mark_below(page.child(index), level - 1, bounds, kinds),
            }
        }
    }

    /// Checks that every page is used once, or listed as free, in the file as in memory.
    pub(crate) fn audit(&self) -> Result<(), StoreError> {
        let (kinds, root) = (self.kinds(), *self.snapshot());
        let listed = self.file.read_list(root.free)?;
        let listed = FreePages::decode(&listed, HEADER_PAGES, root.end).unwrap();
        let writer = self.writer.lock();
        let mut known = writer.free.clone();
        let left = writer.left.iter().flat_map(|(_, pages)| pages);
        left.for_each(|(start, count)| known.add(*start, *count));
        assert_eq!(known, listed, "free in memory and in the file");
        let mut expected = FreePages::default();
        let free = kinds.iter().enumerate().filter(|(_, kind)| **kind == "free");
        free.for_each(|(page, _)| expected.add(page as u64, 1));
        assert_eq!(listed, expected, "listed as free and not used");
        Ok(())
    }
}

fn mark(kinds: &mut [&'static str], start: u64, count: u64, kind: &'static str) {
    for page in start..start + count {
        assert_eq!(kinds[page as usize], "free", "page {page} is used twice");
        kinds[page as usize] = kind;
    }
}
