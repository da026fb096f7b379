// SPDX-License-Identifier: Apache-2.0

//! All names of a directory, gathered while it is in use.

use super::all_names::{AllOf, MAX_UNCERTAIN, pays};
use super::cached_inode::CachedInode;
use nyala_wire::InodeId;
use nyala_wire::fragments::{COOKIE_END, CookieRange, cookie};

const DIR: InodeId = InodeId(5);

fn named(names: &[&[u8]]) -> Vec<(Vec<u8>, InodeId)> {
    names.iter().map(|name| (name.to_vec(), InodeId(7))).collect()
}

#[test]
fn a_large_directory_takes_more_misses() {
    assert!(pays(16, 512) && !pays(16, 513) && !pays(0, 1) && pays(u32::MAX, u64::from(u32::MAX)));
    let mut dir = CachedInode::default();
    let misses = (0..100).filter_map(|_| {
        dir.names.missed();
        dir.consider_gathering(16)
    });
    assert_eq!(misses.collect::<Vec<_>>(), [16, 32, 64]);
}

#[test]
fn what_is_changed_while_names_are_gathered_is_known_from_the_change() {
    let mut dir = CachedInode::default();
    let ticket = dir.names.gather();
    dir.forget_entry(b"removed");
    dir.forget_entry(b"made");
    dir.forget_entry(b"under way");
    dir.put_entry(b"removed".to_vec(), None);
    dir.put_entry(b"made".to_vec(), Some(DIR));
    let added = dir.names.gathered(ticket, AllOf::Directory, named(&[b"removed", b"under way", b"a"]));
    assert_eq!(added, 1);
    assert_eq!((dir.entry(b"removed"), dir.entry(b"made")), (Some(None), Some(Some(DIR))));
    assert_eq!((dir.entry(b"under way"), dir.entry(b"a"), dir.entry(b"b")), (None, Some(Some(InodeId(7))), Some(None)));
    assert_eq!(dir.names.gathered(ticket, AllOf::Directory, named(&[b"b"])), 0, "once");
}

#[test]
fn what_began_before_names_were_forgotten_comes_to_nothing() {
    let mut dir = CachedInode::default();
    let old = dir.names.gather();
    let ticket = dir.names.gather();
    assert_eq!(dir.names.gathered(old, AllOf::Directory, named(&[])), 0);
    assert_eq!(dir.entry(b"a"), None);
    dir.drop_names();
    dir.names.gathered(ticket, AllOf::Directory, named(&[]));
    assert_eq!(dir.entry(b"a"), None);
    let ticket = dir.names.gather();
    (0..=MAX_UNCERTAIN).for_each(|number| dir.forget_entry(number.to_string().as_bytes()));
    dir.names.gathered(ticket, AllOf::Directory, named(&[]));
    assert_eq!(dir.entry(b"a"), None, "too much was going on");
}

#[test]
fn of_a_fragment_the_names_of_its_range_are_known() {
    let (mut dir, middle) = (CachedInode::default(), cookie(DIR, b"a"));
    let ticket = dir.names.gather();
    let range = CookieRange { from: middle, upto: COOKIE_END };
    dir.names.gathered(ticket, AllOf::Fragment { dir: DIR, range }, named(&[]));
    let names: Vec<Vec<u8>> = (b'a'..=b'z').map(|letter| vec![letter]).collect();
    for name in names {
        assert_eq!(dir.entry(&name).is_some(), cookie(DIR, &name) >= middle);
    }
}
