// SPDX-License-Identifier: Apache-2.0

//! What is let in with which proofs, for every operation that there is.

use super::*;
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Grant, KeyRoles};
use nyala_wire::meta::{Acknowledged, EntryReply, Owner, Replay, Want};
use nyala_wire::{FileKind, SessionId, Time};

const CLUSTER: ClusterId = ClusterId([3; 16]);
const ROOT: InodeId = InodeId(900);

fn subtree(root: InodeId) -> Subtree {
    let grant = Grant { key: "s".into(), roles: KeyRoles { server: true, ..KeyRoles::default() }, ..Grant::default() };
    let key = KeyEntry { grant, made: 0, secret: vec![b's'; 32] };
    Subtree::new(root, &Secret::from_keys(&KeyFile { keys: vec![key] }), CLUSTER)
}

fn asks(op: MetaOp) -> MetaRequest {
    let (session, owner, want, now) = (SessionId(7), Owner::default(), Want::default(), Time::default());
    MetaRequest { session, sequence: 1, acked_below: 1, owner, now, op, want, caller: None, user: None }
}

fn proofs(of: &Subtree, inodes: impl IntoIterator<Item = InodeId>) -> Vec<u8> {
    let prove = |inode| InodeProof { inode, proof: of.prover.prove(inode).unwrap().into() };
    codec::encode(&inodes.into_iter().map(prove).collect::<Vec<_>>())
}

/// One of every operation that there is, by name.
fn every_op() -> Vec<(&'static str, MetaOp)> {
    let pinned = include_str!("../../../../../nyala-wire/tests/wire/golden.txt").lines();
    let ops = pinned.filter_map(|line| line.strip_prefix("MetaOp.")?.split_once('.')?.1.split_once(' '));
    let byte = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes = |hex: &str| (0..hex.len()).step_by(2).map(|at| byte(hex, at)).collect::<Vec<u8>>();
    ops.map(|(name, hex)| (name, codec::decode(&bytes(hex)).unwrap())).collect()
}

/// What names no inode, and so needs no proof.
const FREE: [&str; 7] = ["SessionOpen", "SessionClose", "SessionAdopt", "StatFs", "Sync", "Survived", "LockChecked"];

#[test]
fn every_inode_that_is_named_has_to_be_proven() {
    let (ours, others) = (subtree(ROOT), subtree(InodeId(901)));
    let ops = every_op();
    assert!(ops.len() > 40, "{}", ops.len());
    for (name, op) in ops.into_iter().filter(|(name, _)| !["Replay", "Repair"].contains(name)) {
        let named = named_inodes(&op).unwrap();
        assert_eq!(named.is_empty(), FREE.contains(&name), "{name}");
        let code = |payload: &[u8]| ours.check(&asks(op.clone()), payload).map_err(|error| error.code);
        assert_eq!(code(&proofs(&ours, named.iter().copied())), Ok(()), "{name} with proofs");
        if named.is_empty() {
            continue;
        }
        assert_eq!(code(&[]), Err(ErrorCode::ACCESS), "{name} without");
        assert_eq!(
            code(&proofs(&others, named.iter().copied())),
            Err(ErrorCode::ACCESS),
            "{name}: of another directory"
        );
        for without in &named {
            let rest = named.iter().copied().filter(|inode| inode != without);
            assert_eq!(code(&proofs(&ours, rest)), Err(ErrorCode::ACCESS), "{name} without that of {without}");
        }
        // One inode's proof shown for another.
        let moved = named
            .iter()
            .map(|inode| InodeProof { inode: *inode, proof: ours.prover.prove(InodeId(5000)).unwrap().into() });
        assert_eq!(code(&codec::encode(&moved.collect::<Vec<_>>())), Err(ErrorCode::ACCESS), "{name}");
    }
}

#[test]
fn what_is_said_to_have_been_done_before_is_held_to_the_same() {
    let ours = subtree(ROOT);
    let inner = codec::encode(&asks(MetaOp::GetAttr { inode: InodeId(5) }));
    let change = Acknowledged { position: 1, request: inner.into(), reply: Vec::new().into() };
    let replay = |open: Vec<InodeId>| {
        asks(MetaOp::Replay(Replay { changes: vec![change.clone()], last: true, open, run: None }))
    };
    let code = |open, payload: Vec<u8>| ours.check(&replay(open), &payload).map_err(|error| error.code);
    assert_eq!(code(Vec::new(), Vec::new()), Err(ErrorCode::ACCESS));
    assert_eq!(code(Vec::new(), proofs(&ours, [InodeId(5)])), Ok(()));
    assert_eq!(
        code(vec![InodeId(6)], proofs(&ours, [InodeId(5)])),
        Err(ErrorCode::ACCESS),
        "what it says that it has open"
    );
}

#[test]
fn the_root_needs_no_proof_and_what_is_above_it_is_not_told() {
    let ours = subtree(ROOT);
    let code = |op| ours.check(&asks(op), &[]).map_err(|error| error.code);
    assert_eq!(code(MetaOp::GetAttr { inode: ROOT }), Ok(()));
    assert_eq!(code(MetaOp::GetParent { dir: ROOT }), Err(ErrorCode::ACCESS));
    assert_eq!(
        code(MetaOp::GetAttr { inode: InodeId::ROOT }),
        Err(ErrorCode::ACCESS),
        "that of the file system is outside"
    );
}

#[test]
fn proofs_are_given_of_what_was_found_by_name_alone() {
    let ours = subtree(ROOT);
    let entry = MetaReply::Entry(EntryReply { inode: InodeId(77), kind: FileKind::Directory, attr: None });
    let body = |reply: &MetaReply| [&Grants::default().head_bytes()[..], &codec::encode(reply)].concat();
    let proven: Proven = codec::decode(&ours.proven(true, &body(&entry)).unwrap()).unwrap();
    assert_eq!((proven.root, proven.proofs.len()), (ROOT, 1));
    assert!(ours.prover.is_proof(InodeId(77), &proven.proofs[0].proof));
    let above: Proven = codec::decode(&ours.proven(false, &body(&MetaReply::Inode(InodeId(8)))).unwrap()).unwrap();
    assert!(above.proofs.is_empty());
    let finding: Vec<&str> = every_op().iter().filter(|(_, op)| finds(op)).map(|(name, _)| *name).collect();
    assert_eq!(finding, ["Lookup", "ReadDir", "Fragments", "Create", "Mkdir", "Mknod", "Symlink", "Link", "Tmpfile"]);
}
