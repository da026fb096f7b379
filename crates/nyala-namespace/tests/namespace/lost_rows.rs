// SPDX-License-Identifier: Apache-2.0

//! Rows taken out of tables whose pages are whole: what the other rows say makes an error of it, never a wrong answer.

use crate::support::{Server, entry};
use nyala_kv::Key;
use nyala_namespace::change::{Change, Fault};
use nyala_namespace::keys;
use nyala_namespace::listings::Listings;
use nyala_namespace::locks::Locks;
use nyala_wire::meta::*;
use nyala_wire::*;

impl Server {
    fn files(&mut self, count: usize) {
        for n in 0..count {
            self.file(&format!("f{n}"));
        }
    }

    fn lose(&mut self, key: Key) {
        assert!(self.view.0.remove(&key).is_some(), "it was there");
    }

    /// One request of a listing, as the service answers it.
    fn page(
        &mut self,
        listings: &mut Listings,
        session: u64,
        after: u64,
        max_entries: u32,
    ) -> Result<Listing, WireError> {
        let op = MetaOp::ReadDir { dir: InodeId::ROOT, after, max_entries, plus: false };
        let MetaReply::Listing(mut listing) = self.run(op)? else { panic!("no listing") };
        let locks = Locks::default();
        let mut change = Change::new(&self.view, &locks, None);
        let at = (InodeId::ROOT, after);
        match listings.check(&mut change, SessionId(session), at, &mut listing) {
            Ok(()) => Ok(listing),
            Err(Fault::Refused(error)) => Err(error),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// A whole listing: how many names it gave, and how it ended.
    fn list(&mut self, listings: &mut Listings, session: u64, max_entries: u32) -> (usize, Result<(), ErrorCode>) {
        let (mut after, mut names) = (0, 0);
        loop {
            match self.page(listings, session, after, max_entries) {
                Err(error) => return (names, Err(error.code)),
                Ok(listing) => {
                    names += listing.entries.len();
                    if listing.end {
                        return (names, Ok(()));
                    }
                    after = listing.entries.last().map_or(after, |entry| entry.cookie);
                }
            }
        }
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn code(result: Result<MetaReply, WireError>) -> ErrorCode {
    result.expect_err("a row is missing").code
}

fn put(inode: InodeId, base_version: u64, data: Vec<u8>) -> MetaOp {
    let mtime = Time::default();
    MetaOp::PutInline(PutInline {
        inode,
        base_version,
        data: data.into(),
        mtime,
        close: false,
        sync: false,
        size: None,
        set: None,
    })
}

#[test]
fn a_name_that_is_lost_makes_a_listing_end_in_an_error_behind_the_others() {
    for max in [1000, 7, 1] {
        let mut listings = Listings::default();
        let mut server = Server::new();
        server.files(50);
        assert_eq!(server.list(&mut listings, 1, max), (50, Ok(())));
        server.lose(keys::entry(InodeId::ROOT, keys::cookie(InodeId::ROOT, b"f31")));
        for session in [1, 1, 2] {
            assert_eq!(server.list(&mut listings, session, max), (49, Err(ErrorCode::IO)));
        }
        // A client that keeps what it was given asks for the end alone.
        let last = (0..50).filter(|n| *n != 31).map(|n| keys::cookie(InodeId::ROOT, format!("f{n}").as_bytes())).max();
        assert_eq!(server.page(&mut listings, 1, last.unwrap(), max).expect_err("short").code, ErrorCode::IO);
    }
}

#[test]
fn what_changes_while_it_is_listed_is_no_damage() {
    let mut listings = Listings::default();
    let mut server = Server::new();
    server.files(50);
    let first = server.page(&mut listings, 1, 0, 20).unwrap();
    let (gone, kept) = (first.entries[3].name.clone(), first.entries[19].cookie);
    server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: gone }).unwrap();
    server.file("new");
    let rest = server.page(&mut listings, 1, kept, 1000).unwrap();
    assert!(rest.end);
    assert_eq!(server.list(&mut listings, 1, 9), (50, Ok(())));
    // One that begins in the middle, and two of one session that go on from one place.
    assert!(server.page(&mut listings, 2, kept, 1000).unwrap().end);
    let first = server.page(&mut listings, 1, 0, 20).unwrap().entries[19].cookie;
    assert_eq!(server.page(&mut listings, 1, 0, 20).unwrap().entries[19].cookie, first);
    (0..3).for_each(|_| assert!(server.page(&mut listings, 1, first, 1000).unwrap().end));
}

#[test]
fn inline_content_that_is_lost_is_not_read_as_zeros() {
    let mut server = Server::new();
    let full = server.file("full");
    server.run(put(full, 0, vec![7; 1000])).unwrap();
    server.lose(keys::data(full));
    assert_eq!(code(server.run(MetaOp::Open { inode: full })), ErrorCode::IO);
    assert_eq!(code(server.run(MetaOp::FileInfo { inode: full })), ErrorCode::IO);
    let shorter = SetAttr { size: Some(10), ..SetAttr::default() };
    assert_eq!(code(server.run(MetaOp::SetAttr { inode: full, set: shorter })), ErrorCode::IO);
    assert!(server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: name("full") }).is_ok(), "it can be removed");

    // Never written, but made larger: that is kept as content of no bytes, whose loss shows as well.
    let sparse = server.file("sparse");
    let larger = SetAttr { size: Some(100), ..SetAttr::default() };
    server.run(MetaOp::SetAttr { inode: sparse, set: larger }).unwrap();
    assert!(server.run(MetaOp::Open { inode: sparse }).is_ok());
    server.lose(keys::data(sparse));
    assert_eq!(code(server.run(MetaOp::Open { inode: sparse })), ErrorCode::IO);
}

#[test]
fn the_end_of_content_does_not_go_with_another_beginning() {
    let mut server = Server::new();
    let inode = server.file("f");
    server.run(put(inode, 0, vec![7; nyala_kv::ONE_PAGE_VALUE_BYTES + 5])).unwrap();
    assert!(server.run(MetaOp::Open { inode }).is_ok());
    server.view.0.insert(keys::data(inode), vec![7; 100]);
    assert_eq!(code(server.run(MetaOp::Open { inode })), ErrorCode::IO);
}

#[test]
fn a_name_without_inode_a_link_without_target_and_attributes_that_are_lost_are_errors() {
    let mut server = Server::new();
    let link = match server.run(MetaOp::Symlink { entry: entry("link"), target: b"there".to_vec().into() }) {
        Ok(MetaReply::Entry(entry)) => entry.inode,
        other => panic!("{other:?}"),
    };
    server.lose(keys::data(link));
    assert_eq!(code(server.run(MetaOp::ReadLink { inode: link })), ErrorCode::IO);

    let file = server.file("f");
    for name in [b"user.a".to_vec(), b"user.b".to_vec()] {
        server.set_xattr(file, &name, b"v".to_vec()).unwrap();
    }
    assert!(server.run(MetaOp::ListXattr { inode: file }).is_ok());
    server.lose(keys::xattr(file, b"user.a"));
    assert_eq!(code(server.run(MetaOp::ListXattr { inode: file })), ErrorCode::IO);

    server.lose(keys::inode(file));
    assert_eq!(code(server.run(MetaOp::Lookup { parent: InodeId::ROOT, name: name("f") })), ErrorCode::IO);
}

#[test]
fn a_directory_with_names_that_it_does_not_count_is_not_removed() {
    let mut server = Server::new();
    let dir = match server.run(MetaOp::Mkdir { entry: entry("d") }) {
        Ok(MetaReply::Entry(entry)) => entry.inode,
        other => panic!("{other:?}"),
    };
    let inside = NewEntry { parent: dir, ..entry("f") };
    server.run(MetaOp::Mknod { entry: inside, kind: FileKind::File, rdev: 0, pattern: None }).unwrap();
    let key = keys::inode(dir);
    let mut record: nyala_namespace::records::InodeRecord = codec::decode(&server.view.0[&key]).unwrap();
    record.dir.as_mut().unwrap().entries = 0;
    server.view.0.insert(key, codec::encode(&record));
    assert_eq!(code(server.run(MetaOp::Rmdir { parent: InodeId::ROOT, name: name("d") })), ErrorCode::IO);
}
