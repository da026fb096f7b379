// SPDX-License-Identifier: Apache-2.0

//! A small file system, and damage of every class that a stopped cluster can be given.

use super::tables::{Tables, entry};
use nyala_e2e::Cluster;
use nyala_e2e::posix::pattern;
use nyala_namespace::keys;
use nyala_namespace::records::{CommittedRecord, DirPart, EntryRecord, FilePart, InodeRecord, PreparedRecord};
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta_tx::TxId;
use nyala_wire::{FileKind, InodeId, Name, SessionId, TargetId, Time, codec};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Beyond what is inline, on several targets.
pub const LARGE: usize = 3 << 20;
/// Beyond what is inline, on one target.
const SHORT: usize = 100_000;
const NOBODY: SessionId = SessionId(0x5e55_1041);
/// A target that there is not, and a transaction of it.
const NOWHERE: TargetId = TargetId(999);
const STUCK: TxId = TxId { coordinator: NOWHERE, number: 7 };

/// Small files that the test makes.
pub const FILES: [&str; 10] =
    ["dangling", "kind", "misplaced", "links", "orphan", "unlinked", "content", "attributes", "sessions", "foreign"];
/// Striped ones.
const LARGE_FILES: [&str; 7] =
    ["large-gone", "large-lost", "large-more", "large-inline", "large-unexpected", "large-elsewhere", "large-sparse"];
/// And directories.
const DIRECTORIES: [&str; 7] =
    ["circle", "named-elsewhere", "named-twice", "orphaned", "circle/inner", "counted", "split"];

/// What a check finds of all that.
pub const FOUND: [&str; 30] = [
    "chunk-beside-inline",
    "chunk-excess",
    "chunk-lost",
    "chunk-missing",
    "chunk-orphan",
    "chunk-unexpected",
    "committed-stuck",
    "content-lost",
    "content-stray",
    "directory-count",
    "directory-loop",
    "directory-names",
    "directory-parent",
    "fragment-missing",
    "fragment-stray",
    "inode-count",
    "inode-orphan",
    "inode-unlinked",
    "link-count",
    "lock-stray",
    "name-dangling",
    "name-kind",
    "name-misplaced",
    "names-without-directory",
    "open-stray",
    "prepared-stuck",
    "replies-stray",
    "row-foreign",
    "target-missing",
    "xattr-count",
];
/// Those that no program can repair.
pub const ADMINISTRATORS: [&str; 8] = [
    "chunk-lost",
    "chunk-missing",
    "chunk-unexpected",
    "committed-stuck",
    "content-lost",
    "prepared-stuck",
    "row-foreign",
    "target-missing",
];
/// Those that are repaired with `--remove-chunks`.
pub const OPERATORS: [&str; 2] = ["chunk-beside-inline", "chunk-orphan"];

/// The inode of a file.
pub fn number(path: &Path) -> InodeId {
    InodeId(fs::symlink_metadata(path).unwrap().ino())
}

/// What the test makes, by name: inodes.
pub struct Made {
    pub root: PathBuf,
    pub dir: InodeId,
}

impl Made {
    pub fn new(cluster: &Cluster) -> Made {
        let root = cluster.test_dir("fsck");
        for name in FILES {
            fs::write(root.join(name), pattern(3, 700)).unwrap();
        }
        for name in LARGE_FILES {
            fs::write(root.join(name), pattern(4, if name == "large-sparse" { SHORT } else { LARGE })).unwrap();
        }
        for name in &DIRECTORIES[1..] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("orphaned/inside"), b"inside").unwrap();
        symlink("nowhere", root.join("link")).unwrap();
        let dir = number(&root);
        Made { root, dir }
    }

    /// All of them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        FILES.into_iter().chain(LARGE_FILES).chain(DIRECTORIES)
    }
}

/// Damages the tables of a stopped cluster, but for rows of transactions and striped files; `inodes` are those of `Made` by name.
pub fn damage(tables: &Tables, dir: InodeId, of: &dyn Fn(&str) -> InodeId) {
    let home = keys::inode(dir);
    damage_striped(tables, of);
    // Rows of servers.
    let row = tables.with(&keys::inode(of("foreign"))).get(&keys::inode(of("foreign"))).unwrap().unwrap();
    tables.put_elsewhere(&keys::inode(of("foreign")), &row);
    let prepared = PreparedRecord { parts: Vec::new(), stage: 0, now: Time::default() };
    tables.put(&home, &keys::prepared(STUCK), &codec::encode(&prepared));
    let committed = CommittedRecord { participants: vec![NOWHERE], session: NOBODY, sequence: 1 };
    tables.put(&home, &keys::committed(STUCK.number), &codec::encode(&committed));
    // Names.
    tables.remove(&keys::inode(of("dangling")));
    tables.remove(&keys::data(of("dangling")));
    tables.change(&entry(dir, "kind"), |entry: &mut EntryRecord| entry.kind = FileKind::Fifo);
    let row = tables.remove(&entry(dir, "misplaced"));
    tables.put(&home, &keys::entry(dir, 512), &row);
    let gone = InodeId::new(dir.slot(), 0xdead_beef).unwrap();
    let kind = FileKind::File;
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    let row = EntryRecord { name: name("x"), inode: of("sessions"), kind, followed: None };
    tables.put(&home, &entry(gone, "x"), &codec::encode(&row));
    // Directories.
    tables.inode(of("counted"), |record| record.dir.as_mut().unwrap().entries = 5);
    tables.inode(of("named-elsewhere"), |record| record.dir.as_mut().unwrap().parent = of("counted"));
    let kind = FileKind::Directory;
    let row = EntryRecord { name: name("again"), inode: of("named-twice"), kind, followed: None };
    let counted = of("counted");
    tables.put(&keys::inode(counted), &entry(counted, "again"), &codec::encode(&row));
    let (outer, inner) = (of("circle"), of("circle/inner"));
    let row: EntryRecord = codec::decode(&tables.remove(&entry(dir, "circle"))).unwrap();
    tables.put(&keys::inode(inner), &entry(inner, "circle"), &codec::encode(&row));
    tables.inode(outer, |record| record.dir.as_mut().unwrap().parent = inner);
    damage_fragments(tables, dir, of("split"));
    // Inodes.
    tables.inode(of("links"), |record| record.nlink = 7);
    for name in ["orphan", "orphaned", "unlinked", "large-gone"] {
        tables.remove(&entry(dir, name));
    }
    tables.inode(of("unlinked"), |record| record.nlink = 0);
    tables.remove(&keys::inode(of("large-gone")));
    // What belongs to inodes and sessions.
    tables.remove(&keys::data(of("content")));
    tables.put(&home, &keys::data(gone), b"of nothing");
    tables.inode(of("attributes"), |record| record.xattr_bytes = Some(99));
    let session = &keys::inode(of("sessions"));
    tables.put(session, &keys::open(of("sessions"), NOBODY), b"");
    tables.put(session, &keys::session_lock(NOBODY, of("sessions")), b"");
    tables.put(session, &keys::reply(NOBODY, 5), &[0x82, 0x05, 0x40]);
}

/// A directory has a fragment that is lost, and another one does not have a fragment that is there. Their numbers are of those of the
/// first run that were never given to anything.
fn damage_fragments(tables: &Tables, dir: InodeId, split: InodeId) {
    let (lost, stray) = (InodeId::new(split.slot(), 0xf0_0003).unwrap(), InodeId::new(dir.slot(), 0xf0_0005).unwrap());
    tables.inode(split, |record| {
        record.dir.as_mut().unwrap().fragments = Some(vec![Fragment { inode: lost, upto: 1 << 20 }]);
    });
    let home = keys::inode(dir);
    let mut record: InodeRecord = codec::decode(&tables.with(&home).get(&home).unwrap().unwrap()).unwrap();
    let range = CookieRange { from: 0, upto: 1 << 20 };
    (record.nlink, record.dir) = (2, Some(DirPart { range: Some(range), ..DirPart::new(dir, None) }));
    tables.put(&home, &keys::inode(stray), &codec::encode(&record));
}

/// Records of striped files say something else than what is at storage.
fn damage_striped(tables: &Tables, of: &dyn Fn(&str) -> InodeId) {
    let file = |name: &str, how: &dyn Fn(&mut u64, &mut FilePart)| {
        tables.inode(of(name), |record| how(&mut record.size, record.file.as_mut().unwrap()));
    };
    file("large-inline", &|size, file| (*size, file.inline_version) = (5, Some(1)));
    tables.put(&keys::inode(of("large-inline")), &keys::data(of("large-inline")), b"small");
    // As if it had been on the first target only.
    file("large-unexpected", &|size, file| {
        *size = file.layout.chunk_file_len(0, *size);
        file.layout.targets.truncate(1);
    });
    file("large-elsewhere", &|_, file| file.layout.targets[1] = NOWHERE);
    file("large-sparse", &|size, file| *size = u64::from(file.layout.chunk_bytes) + 1000);
}

/// Takes away what nobody but the administrator of the lost target could end.
pub fn restore(tables: &Tables, of: &dyn Fn(&str) -> InodeId) {
    tables.remove(&keys::prepared(STUCK));
    tables.remove(&keys::committed(STUCK.number));
    tables.remove_foreign(&keys::inode(of("foreign")), of("foreign"));
}
