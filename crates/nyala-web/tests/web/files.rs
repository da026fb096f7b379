// SPDX-License-Identifier: Apache-2.0

//! Where a file lies, and checks of the file system.

use crate::clusters::{World, check, degraded, healthy};
use nyala_web::{CheckState, Looked, Page, Visitor, document, parts, with_file};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{Attr, FileKind, InodeId, Layout, Pattern, PoolId, StripePattern, TargetId, Time};

fn page(world: &World, looked: Option<&Looked>) -> String {
    let facts = world.facts(false);
    let parts = with_file(&facts, &parts(Page::Files, &facts), looked);
    document(Page::Files, &facts, &parts, &Visitor::default())
}

pub fn info(kind: FileKind) -> EntryInfo {
    let time = Time { seconds: 951_782_400, nanos: 0 };
    let attr = Attr {
        inode: InodeId(0x0001_0000_0000_0042),
        kind,
        perm: 0o640,
        nlink: 1,
        uid: 1000,
        gid: 100,
        rdev: 0,
        size: 3 << 20,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        allocated: None,
        no_xattrs: false,
        split: None,
    };
    let (layout, pattern, parent, fragments) = (None, None, None, None);
    EntryInfo { attr, meta_target: TargetId(1), layout, inline: false, pattern, parent, fragments }
}

fn shown(world: &World, found: Result<EntryInfo, &str>) -> String {
    let found = found.map_err(str::to_owned);
    page(world, Some(&Looked { path: "/projects/a b.dat".to_owned(), found }))
}

pub fn layout(pattern: Pattern, ids: &[u16]) -> Option<Layout> {
    Some(Layout {
        pattern,
        chunk_bytes: 512 << 10,
        targets: ids.iter().map(|id| TargetId(*id)).collect(),
        moves: 0,
        code: None,
    })
}

#[test]
fn a_striped_file_shows_its_targets_and_their_states() {
    let file = EntryInfo { layout: layout(Pattern::Raid0, &[101, 999]), ..info(FileKind::File) };
    let html = shown(&degraded(), Ok(file));
    for said in [
        "/projects/a b.dat",
        "value=\"/projects/a b.dat\"",
        "3 MiB (3145728 bytes)",
        "user 1000, group 100, mode 0640",
        "2000-02-29 00:00:00",
        "chunks of 512 KiB",
        "disk-101",
        "not in the cluster map",
    ] {
        assert!(html.contains(said), "{said}: {html}");
    }
}

#[test]
fn a_mirrored_file_shows_groups_with_the_state_of_each_member() {
    let file = EntryInfo { layout: layout(Pattern::Mirror, &[2, 77]), ..info(FileKind::File) };
    let html = shown(&degraded(), Ok(file));
    for said in
        ["striped over mirror groups", "disk-101", "primary", "needs resync", "offline", "not in the cluster map"]
    {
        assert!(html.contains(said), "{said}: {html}");
    }
}

#[test]
fn what_has_no_chunks_says_where_it_is() {
    let inline = shown(&healthy(), Ok(EntryInfo { inline: true, ..info(FileKind::File) }));
    assert!(inline.contains("kept with its inode"), "{inline}");
    let pattern = StripePattern {
        pattern: Pattern::Mirror,
        chunk_bytes: 1 << 20,
        num_targets: 4,
        pool: PoolId(1),
        inline_bytes: 4096,
        code: None,
    };
    let dir = shown(&healthy(), Ok(EntryInfo { pattern: Some(pattern), ..info(FileKind::Directory) }));
    for said in ["3145728 entries", "over 4 mirror groups", "up to 4 KiB"] {
        assert!(dir.contains(said), "{said}: {dir}");
    }
    let missing = shown(&healthy(), Err("there is no /projects"));
    assert!(missing.contains("role=\"alert\">there is no /projects</p>"), "{missing}");
    let asked = page(&healthy(), None);
    assert!(asked.contains("action=\"/files\"") && asked.contains("value=\"/\"") && !asked.contains("found-title"));
}

#[test]
fn checks_say_how_far_they_are_and_what_came_of_them() {
    let mut world = healthy();
    assert!(page(&world, None).contains("No check is among"));
    world.checks = vec![
        check(CheckState::GoesOn("first look: 3 names".to_owned())),
        check(CheckState::Over("2 findings, 2 repaired".to_owned())),
        check(CheckState::Unknown { leads: true }),
        check(CheckState::Unknown { leads: false }),
    ];
    let html = page(&world, None);
    for said in [
        "nyala fsck --repair",
        "10.0.0.9",
        "goes on",
        "first look: 3 names",
        "2 findings, 2 repaired",
        "given up",
        "not over",
    ] {
        assert!(html.contains(said), "{said}: {html}");
    }
    // What changes while somebody types is not the form.
    let facts = world.facts(false);
    let live: Vec<&str> = parts(Page::Files, &facts).iter().map(|part| part.id).collect();
    assert_eq!(live, ["state", "checks"]);
}
