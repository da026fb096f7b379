// SPDX-License-Identifier: Apache-2.0

//! Names that are found by inode are those that a look-up finds.

use crate::support::{ME, Server, entry};
use nyala_namespace::names::names;
use nyala_wire::busiest::{NamesReply, NamesRequest};
use nyala_wire::meta::{MetaOp, MetaReply};
use nyala_wire::{ErrorCode, InodeId, Name, TargetId};

/// Asks until there is nothing to go on with; how often that was.
fn all_names(server: &Server, dir: Option<InodeId>, inodes: &[InodeId]) -> (NamesReply, usize) {
    let mut request = NamesRequest { dir, inodes: inodes.to_vec(), after: (InodeId(0), 0) };
    let (mut all, mut asked) = (NamesReply::default(), 0);
    loop {
        let reply = names(&server.view, ME, &server.logic.map, &request).unwrap();
        asked += 1;
        all.names.extend(reply.names);
        let Some(next) = reply.next else { return (all, asked) };
        request.after = next;
    }
}

fn lookup(server: &mut Server, parent: InodeId, name: &Name) -> InodeId {
    match server.run(MetaOp::Lookup { parent, name: name.clone() }) {
        Ok(MetaReply::Entry(entry)) => entry.inode,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_found_by_inode_is_what_a_look_up_finds() {
    let mut server = Server::new();
    for n in 0..3000 {
        server.file(&format!("f{n}"));
    }
    let Ok(MetaReply::Entry(made)) = server.run(MetaOp::Mkdir { entry: entry("d") }) else { panic!("it is made") };
    let wanted: Vec<Name> = [7, 70, 1500, 2999].map(|n| Name::new(format!("f{n}").as_bytes()).unwrap()).into();
    let inodes: Vec<InodeId> = wanted.iter().map(|name| lookup(&mut server, InodeId::ROOT, name)).collect();
    let (found, asked) = all_names(&server, None, &inodes);
    assert_eq!((found.names.len(), asked <= 2), (4, true), "{asked}");
    assert!(found.names.iter().all(|name| name.dir == InodeId::ROOT));
    for name in found.names {
        assert_eq!(lookup(&mut server, InodeId::ROOT, &name.name), name.inode);
    }
    let (of_dir, _) = all_names(&server, Some(InodeId::ROOT), &[made.inode]);
    assert_eq!(of_dir.names[0].name.as_bytes(), b"d");
    // What is not there is looked for to the end.
    let (missing, asked) = all_names(&server, Some(InodeId::ROOT), &[InodeId(99_999)]);
    assert_eq!((missing.names.len(), asked), (0, 2));
}

#[test]
fn what_nobody_asks_is_refused() {
    let server = Server::new();
    let refused = |me, dir, inodes: Vec<InodeId>| {
        let request = NamesRequest { dir, inodes, after: (InodeId(0), 0) };
        names(&server.view, me, &server.logic.map, &request).unwrap_err().code
    };
    let far = InodeId(InodeId::ROOT.0 | 9 << 48);
    assert_eq!(refused(ME, None, vec![]), ErrorCode::BAD_MESSAGE);
    assert_eq!(refused(ME, None, vec![InodeId::ROOT; 65]), ErrorCode::BAD_MESSAGE);
    assert_eq!(refused(ME, None, vec![InodeId::ROOT, far]), ErrorCode::BAD_MESSAGE);
    assert_eq!(refused(TargetId(77), Some(InodeId::ROOT), vec![far]), ErrorCode::WRONG_SERVER);
}
