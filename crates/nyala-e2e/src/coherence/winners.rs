// SPDX-License-Identifier: Apache-2.0

//! Of all who make the same name at once, one wins, whichever way the name is made; and all then see what the winner made.

use super::arena::Arena;
use super::crew::{self, Member};
use super::number;
use crate::sys;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

/// Coordinates: `ROUNDS DIR…`, two workers on each mount.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [rounds, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let rounds: usize = number(rounds)?;
    crew::run("winners", &Arena::new(rounds * 2), dirs.len() * 2, dirs, &[rounds.to_string()])
}

/// One worker.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let me = Member::new(args)?;
    for round in 0..me.number(0)? {
        let (name, own) = (me.dir.join(format!("x{round}")), me.dir.join(format!("own-{}-{round}", me.index)));
        if round % 4 >= 2 {
            File::create(&own).map_err(|error| me.fail("create a source", error))?;
        }
        // A name that is known to be absent is what may be remembered wrongly.
        if name.exists() {
            return Err(me.fail(format!("round {round}"), "the name is there before anybody made it"));
        }
        if !me.meet(round * 2 + 1) {
            return Ok(());
        }
        let inode = match make(round, &own, &name) {
            Ok(()) => {
                let inode = inode(&name).map_err(|error| me.fail("stat what was just made", error))?;
                me.arena.word(round * 2).fetch_add(1, SeqCst);
                me.arena.word(round * 2 + 1).store(inode, SeqCst);
                Some(inode)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            Err(error) => return Err(me.fail(format!("round {round}"), error)),
        };
        if !me.meet(round * 2 + 2) {
            return Ok(());
        }
        let winners = me.arena.word(round * 2).load(SeqCst);
        if winners != 1 {
            return Err(me.fail(format!("round {round} of {}", WAYS[round % 4]), format!("{winners} winners")));
        }
        let seen = self::inode(&name).map_err(|error| me.fail("stat what another made", error))?;
        let made = me.arena.word(round * 2 + 1).load(SeqCst);
        if seen != made {
            return Err(me.fail(format!("round {round}"), format!("inode {seen} is there, the winner made {made}")));
        }
        let kept = round % 4 == 2 || round % 4 == 3 && inode.is_none();
        if own.exists() != kept {
            return Err(me.fail(format!("round {round} of {}", WAYS[round % 4]), "the source is wrongly there or gone"));
        }
    }
    Ok(())
}

const WAYS: [&str; 4] = ["O_EXCL", "mkdir", "link", "rename with NOREPLACE"];

fn make(round: usize, own: &Path, name: &Path) -> std::io::Result<()> {
    match round % 4 {
        0 => OpenOptions::new().write(true).create_new(true).open(name).map(drop),
        1 => DirBuilder::new().create(name),
        2 => sys::link(own, name),
        _ => sys::rename2(own, name, libc::RENAME_NOREPLACE),
    }
}

fn inode(path: &Path) -> std::io::Result<u64> {
    std::fs::symlink_metadata(path).map(|meta| meta.ino())
}
