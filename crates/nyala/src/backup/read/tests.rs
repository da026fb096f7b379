// SPDX-License-Identifier: Apache-2.0

//! Backups of a metadata target: whole, damaged, of what is in use.

use super::super::create;
use super::*;
use nyala_store::own_dir::{self, OwnDir};
use nyala_store::{Batch, Options, Store};
use nyala_wire::{ClusterId, TargetId};

/// A metadata target with some rows, whose service is stopped.
fn target(dir: &Path) {
    let mut own = OwnDir::open(dir, own_dir::Kind::MetaTarget, ClusterId([1; 16])).unwrap();
    own.registered(ClusterId([7; 16]), TargetId(3)).unwrap();
    let small = Options { segment_bytes: 1 << 20, ..Options::default() };
    let (store, _) = Store::open(&dir.join("tables"), small).unwrap();
    for number in 0..2000_u32 {
        let mut batch = Batch::default();
        batch.put(number.to_be_bytes(), [number as u8; 100]);
        store.apply(batch).unwrap();
    }
    store.close().unwrap();
}

fn rows(dir: &Path) -> usize {
    let (store, _) = Store::open(&dir.join("tables"), Options::default()).unwrap();
    let mut rows = 0;
    let visit: &mut nyala_store::Visit<'_> = &mut |_, _| {
        rows += 1;
        std::ops::ControlFlow::Continue(())
    };
    store.scan(std::ops::Bound::Unbounded, std::ops::Bound::Unbounded, visit).unwrap();
    rows
}

fn accepted(_: &Manifest, _: &Path) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn what_is_put_back_is_what_it_was() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    target(&at("meta"));
    let (made, bytes) = create(&at("meta"), &at("b.tar.gz")).unwrap();
    assert_eq!((made.kind, made.id, made.cluster), (Kind::Meta, 3, ClusterId([7; 16])));
    assert!(bytes > 0 && std::fs::metadata(at("b.tar.gz")).unwrap().len() == bytes);
    assert_eq!(show(&at("b.tar.gz")), Ok(made.clone()));
    assert_eq!(restore(&at("b.tar.gz"), &at("new"), accepted), Ok(made));
    assert_eq!(rows(&at("new")), 2000);
    let own = OwnDir::open(&at("new"), own_dir::Kind::MetaTarget, ClusterId::UNKNOWN).unwrap();
    assert_eq!((own.identity.target, own.identity.file_system), (TargetId(3), None), "it may be on another disk");
    assert!(!at("new").join(STAGED).exists());
    let again = create(&at("meta"), &at("b.tar.gz")).unwrap_err();
    assert!(again.message.contains("a name of its own"), "{again}");
}

#[test]
fn a_directory_in_use_and_a_damaged_one_are_not_taken() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    target(&at("meta"));
    let used = OwnDir::open(&at("meta"), own_dir::Kind::MetaTarget, ClusterId::UNKNOWN).unwrap();
    assert!(create(&at("meta"), &at("b")).unwrap_err().message.contains("in use"));
    drop(used);
    let table = std::fs::read_dir(at("meta").join("tables/table")).unwrap();
    for file in table.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let mut bytes = std::fs::read(&file).unwrap();
        // In each page; what is in use of it comes first.
        bytes.iter_mut().skip(100).step_by(4096).for_each(|byte| *byte ^= 0x55);
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(create(&at("meta"), &at("b")).unwrap_err().message.contains("no backup was made"));
    assert!(!at("b").exists() && !at("b.new").exists());
}

#[test]
fn nothing_damaged_refused_or_foreign_is_put_back() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    target(&at("meta"));
    create(&at("meta"), &at("b")).unwrap();
    let whole = std::fs::read(at("b")).unwrap();
    // Cut off anywhere, and a bit changed anywhere: never a directory that a service would take for its own, unless the bit means nothing: how far
    // back a run of zeros is copied from makes no difference to it.
    let mut found = 0;
    for part in 1..12 {
        let place = whole.len() * part / 12;
        let mut changed = whole.clone();
        changed[place] ^= 1;
        for (bytes, cut) in [(&whole[..place], true), (&changed[..], false)] {
            std::fs::write(at("bad"), bytes).unwrap();
            match restore(&at("bad"), &at("none"), accepted) {
                Ok(_) => {
                    assert!(!cut && rows(&at("none")) == 2000, "what is accepted is what it was");
                    std::fs::remove_dir_all(at("none")).unwrap();
                }
                Err(error) => {
                    found += 1;
                    assert!(error.message.contains("bad: "), "{error}");
                    assert!(std::fs::read_dir(at("none")).unwrap().next().is_none());
                }
            }
        }
    }
    assert!(found > 11, "{found}: cuts, and changes that mean something");
    let refused = restore(&at("b"), &at("none"), |_, _| Err(Failure::failed("no"))).unwrap_err();
    assert_eq!((refused.message.as_str(), std::fs::read_dir(at("none")).unwrap().count()), ("no", 0));
    let full = restore(&at("b"), &at("meta"), accepted).unwrap_err();
    assert!(full.message.contains("not empty"), "{full}");
    std::fs::create_dir_all(at("half").join(STAGED)).unwrap();
    restore(&at("b"), &at("half"), accepted).unwrap();
    assert_eq!(rows(&at("half")), 2000, "what an interrupted one left is no obstacle");
    // Died before the last rename: neither a service nor another restore takes it.
    std::fs::create_dir(at("half").join(STAGED)).unwrap();
    std::fs::rename(at("half").join("target.toml"), at("half").join(STAGED).join("target.toml")).unwrap();
    let opened = OwnDir::open(&at("half"), own_dir::Kind::MetaTarget, ClusterId([2; 16]));
    assert!(matches!(opened, Err(own_dir::IdentityError::NotEmpty { .. })), "{opened:?}");
    let again = restore(&at("b"), &at("half"), accepted).unwrap_err();
    assert!(again.message.contains("not empty"), "{again}");
}

#[test]
fn no_file_leads_out_of_the_directory() {
    for name in ["files/../x", "/etc/x", "files", "other/x", "files//"] {
        assert_eq!(below(Path::new(name)), None, "{name}");
    }
    assert_eq!(below(Path::new("files/a/b")), Some("a/b".into()));
}
