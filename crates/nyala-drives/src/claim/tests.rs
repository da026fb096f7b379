// SPDX-License-Identifier: Apache-2.0

//! Crashes at every change of a directory that two sets may take, with any part of what was not synced lost, and sets that want it at the same moment.

use super::*;
use crate::{SetError, release_drive, take_drive};
use nyala_wire::SplitMix64;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

pub(crate) const ONE: SetId = SetId(0x11);
pub(crate) const TWO: SetId = SetId(0x22);

/// What names stand for: a file's content, or a directory, with whether a superblock is in it. Files in directories have a slash in their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    File(Vec<u8>),
    Dir { superblock: bool },
}

pub(crate) type Names = BTreeMap<String, Thing>;

/// A directory in memory. Changes are on disk when it was synced; a crash keeps any of the others.
#[derive(Default)]
pub(crate) struct SimDir {
    pub now: RefCell<Names>,
    pub durable: RefCell<Names>,
    /// Names that were changed since.
    changed: RefCell<Vec<String>>,
    /// Changes until the crash.
    pub left: Cell<Option<u32>>,
}

impl SimDir {
    fn step(&self) -> io::Result<()> {
        match self.left.get() {
            Some(0) => Err(io::Error::other("crash")),
            left => {
                self.left.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }

    fn change(&self, name: &str, to: Option<Thing>) -> io::Result<()> {
        self.step()?;
        let mut now = self.now.borrow_mut();
        match to {
            Some(thing) => now.insert(name.to_owned(), thing),
            None => now.remove(name),
        };
        self.changed.borrow_mut().push(name.to_owned());
        Ok(())
    }

    /// The machine is started again; of what was not synced, some is there.
    pub fn restart(&self, random: &mut SplitMix64) {
        let mut found = self.durable.borrow().clone();
        let mut changed = self.changed.take();
        changed.sort();
        changed.dedup();
        for name in changed.into_iter().filter(|_| random.below(2) == 0) {
            match self.now.borrow().get(&name) {
                Some(thing) => found.insert(name, thing.clone()),
                None => found.remove(&name),
            };
        }
        self.durable.replace(found.clone());
        self.now.replace(found);
        self.left.set(None);
    }

    /// The set writes its superblock, synced.
    pub fn finish(&self) -> io::Result<()> {
        self.change(TABLE, Some(Thing::Dir { superblock: true }))?;
        self.durable.borrow_mut().insert(TABLE.to_owned(), Thing::Dir { superblock: true });
        Ok(())
    }

    pub fn is_finished(&self) -> bool {
        self.now.borrow().get(TABLE) == Some(&Thing::Dir { superblock: true })
    }
}

impl SpareDir for SimDir {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.now.borrow().keys().filter(|name| !name.contains('/')).cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(match self.now.borrow().get(name) {
            Some(Thing::File(content)) => Some(content.clone()),
            _ => None,
        })
    }

    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.change(name, Some(Thing::File(content.to_vec())))
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        if self.now.borrow().contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = self.now.borrow().get(from).cloned();
        self.change(to, Some(file.ok_or(io::ErrorKind::NotFound)?))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        assert!(!self.now.borrow().contains_key(name), "{name} is there");
        self.change(name, Some(Thing::Dir { superblock: false }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(name, None)
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        match self.has_strips()? {
            true if name == OBJECTS => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            _ => self.change(name, None),
        }
    }

    fn remove_strips(&self) -> io::Result<()> {
        let strips: Vec<String> =
            self.now.borrow().keys().filter(|name| name.starts_with("objects/")).cloned().collect();
        strips.iter().filter(|name| !name.ends_with("letter")).try_for_each(|name| self.change(name, None))
    }

    fn remove_tree(&self, name: &str) -> io::Result<()> {
        assert!(!self.is_finished() || !self.now.borrow().contains_key(OBJECTS), "a drive in use is removed");
        self.change(name, None)
    }

    fn sync(&self) -> io::Result<()> {
        self.step()?;
        self.durable.replace(self.now.borrow().clone());
        self.changed.borrow_mut().clear();
        Ok(())
    }

    fn has_strips(&self) -> io::Result<bool> {
        Ok(self.now.borrow().keys().any(|name| name.starts_with("objects/")))
    }

    fn has_superblock(&self) -> io::Result<bool> {
        Ok(self.is_finished())
    }
}

/// What a set does that takes the directory, or takes it and gives it back.
fn work(dir: &SimDir, finishes: bool) -> Result<(), ClaimError> {
    take(dir, ONE)?;
    if finishes {
        dir.finish()?;
    } else {
        assert!(release(dir, ONE)?);
    }
    Ok(())
}

/// The directory is one set's, finished or to be taken again, or free for the other one; never both.
fn check(dir: &SimDir, context: &str) {
    let (claimed, finished) = (owner(dir).unwrap(), dir.is_finished());
    assert_ne!(claimed, Some(TWO), "{context}");
    if finished {
        assert_eq!(claimed, Some(ONE), "{context}: whose it is");
        assert!(!release(dir, ONE).unwrap() && dir.is_finished(), "{context}: it stays");
    }
    let other = take(dir, TWO);
    match claimed {
        Some(_) => assert!(matches!(other, Err(ClaimError::Taken)), "{context}: {other:?}"),
        None => {
            assert!(other.is_ok(), "{context}: nobody has it: {other:?}");
            assert!(matches!(take(dir, ONE), Err(ClaimError::Taken)), "{context}: it is the other one's");
            return;
        }
    }
    if !finished {
        take(dir, ONE).unwrap_or_else(|error| panic!("{context}: it cannot go on: {error}"));
        dir.finish().unwrap();
        assert!(matches!(take(dir, TWO), Err(ClaimError::Taken)), "{context}");
    }
}

#[test]
fn a_crash_at_any_change_leaves_one_owner_at_most() {
    let (mut crashes, mut free, mut unfinished, mut done) = (0, 0, 0, 0);
    for seed in 0..40 {
        for finishes in [true, false] {
            for steps in 0.. {
                let (dir, mut random) = (SimDir::default(), SplitMix64::new(seed * 1000 + u64::from(steps)));
                dir.left.set(Some(steps));
                if work(&dir, finishes).is_ok() {
                    break;
                }
                crashes += 1;
                dir.restart(&mut random);
                // A second crash, while the owner is at it again.
                dir.left.set(Some(random.below(24) as u32));
                let again = work(&dir, finishes);
                dir.restart(&mut random);
                drop(again);
                match (owner(&dir).unwrap(), dir.is_finished()) {
                    (None, _) => free += 1,
                    (Some(_), false) => unfinished += 1,
                    (Some(_), true) => done += 1,
                }
                check(&dir, &format!("seed {seed}, {steps} steps, finishes: {finishes}"));
            }
        }
    }
    assert!(crashes > 400 && free > 50 && unfinished > 50 && done > 5, "{crashes} {free} {unfinished} {done}");
}

#[test]
fn the_claim_as_it_is_on_disk() {
    let text = encode(SetId(0xabc));
    assert_eq!(text, b"00000000000000000000000000000abc 2bd8f2d9\n");
    assert_eq!(decode(&text), Some(SetId(0xabc)));
    for at in 0..text.len() {
        let mut other = text.clone();
        other[at] ^= 1;
        assert_eq!(decode(&other), None, "byte {at}");
    }
    assert_eq!(decode(&text[..41]), None);
    let dir = SimDir::default();
    dir.put(NAME, b"nonsense").unwrap();
    assert!(matches!(take(&dir, ONE), Err(ClaimError::Io(_))), "nobody takes it");
}

#[test]
fn many_sets_want_one_directory_and_one_gets_it() {
    let root = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let dir = root.path().join(format!("spare{round}"));
        std::fs::create_dir_all(dir.join("lost+found")).unwrap();
        let all: Vec<Result<SetId, SetError>> = std::thread::scope(|scope| {
            let want = |set: u128| {
                let dir = &dir;
                scope.spawn(move || take_drive(dir, SetId(set)).map(|_| SetId(set)))
            };
            let threads: Vec<_> = (1..5).map(want).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<&SetId> = all.iter().flatten().collect();
        assert_eq!(won.len(), 1, "{all:?}");
        assert_eq!(crate::claimed_by(&dir).unwrap(), Some(*won[0]));
        let lost = all.iter().filter_map(|one| one.as_ref().err());
        assert!(
            lost.into_iter().all(|error| matches!(error, SetError::Claimed { .. } | SetError::NotEmpty { .. })),
            "{all:?}"
        );
        assert!(!release_drive(&dir, SetId(99)).unwrap(), "it is somebody else's");
        assert!(release_drive(&dir, *won[0]).unwrap() && crate::is_empty(&dir), "nothing was written to it");
    }
}

#[test]
fn what_is_no_claim_is_not_read_to_its_end() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("spare");
    std::fs::create_dir(&dir).unwrap();
    let wrong = |what: &str| {
        let claimed = crate::claimed_by(&dir).unwrap_err();
        assert!(matches!(claimed, SetError::Claim { .. }), "{what}: {claimed}");
        assert!(matches!(take_drive(&dir, ONE), Err(SetError::Claim { .. })), "{what}: nobody takes it");
        assert!(matches!(release_drive(&dir, ONE), Err(SetError::Claim { .. })), "{what}: nobody clears it");
    };
    let claim = dir.join(NAME);
    // As large as a disk.
    std::fs::File::create(&claim).unwrap().set_len(1 << 40).unwrap();
    wrong("a large file");
    std::fs::write(&claim, [b'0'; MAX_BYTES as usize]).unwrap();
    wrong("a file of the largest size");
    std::fs::remove_file(&claim).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &claim, rustix::fs::Mode::RUSR).unwrap();
    wrong("a pipe that nobody writes to");
    std::fs::remove_file(&claim).unwrap();
    std::fs::create_dir(&claim).unwrap();
    wrong("a directory");
}
