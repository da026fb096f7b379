// SPDX-License-Identifier: Apache-2.0

//! Compares what is in the mount with what the load's journals say was acknowledged.

use super::{big, small};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// What was looked at and what was wrong.
#[derive(Debug, Default)]
pub struct Verified {
    /// Acknowledged small files compared.
    pub files: u64,
    /// Acknowledged removals looked at.
    pub removals: u64,
    /// Acknowledged blocks of the big file compared.
    pub blocks: u64,
    /// What was wrong, in words.
    pub wrong: Vec<String>,
}

/// Compares. `synced_only`: the client died, so that written but not fsynced blocks may be old or new.
pub fn verify(dir: &Path, journals: &Path, synced_only: bool) -> Verified {
    let mut verified = Verified::default();
    for worker in 0..2 {
        small_files(dir, &read(journals, &format!("small{worker}")), worker, &mut verified);
    }
    big_file(dir, &read(journals, "big"), synced_only, &mut verified);
    strangers(dir, journals, &mut verified);
    verified
}

fn read(journals: &Path, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(journals.join(name)).unwrap_or_default();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn number(word: &str) -> u64 {
    word.parse().expect("the load's journal holds numbers")
}

fn small_files(dir: &Path, journal: &[Vec<String>], worker: u64, verified: &mut Verified) {
    let mut made = BTreeSet::new();
    let mut gone = BTreeSet::new();
    let mut going = BTreeSet::new();
    for line in journal {
        let file = number(&line[1]);
        match line[0].as_str() {
            "make" => drop(made.insert(file)),
            "try-unlink" => drop(going.insert(file)),
            "unlink" => drop(gone.insert(file)),
            _ => {}
        }
    }
    for file in made {
        let path = small::path(dir, worker, file);
        let found = fs::read(&path);
        if gone.contains(&file) {
            verified.removals += 1;
            if !matches!(&found, Err(error) if error.kind() == ErrorKind::NotFound) {
                verified.wrong.push(format!(
                    "{}: removed, but reading gives {:?}",
                    path.display(),
                    found.map(|d| d.len())
                ));
            }
            continue;
        }
        verified.files += 1;
        match found {
            Ok(got) if got == small::content(worker, file) => {}
            Ok(got) => {
                verified.wrong.push(format!("{}: {} bytes that are not what was written", path.display(), got.len()))
            }
            Err(error) if going.contains(&file) && error.kind() == ErrorKind::NotFound => {}
            Err(error) => verified.wrong.push(format!("{}: {error}", path.display())),
        }
        if small::temporary(dir, worker, file).exists() {
            verified.wrong.push(format!("{}: renamed, but the old name is there too", path.display()));
        }
    }
}

/// Which generations each block may show: the last one acknowledged, and those that came after the last fsync if the
/// client died, and one under way.
fn allowed(journal: &[Vec<String>], synced_only: bool) -> BTreeMap<u64, Vec<u64>> {
    let mut allowed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in journal {
        match line[0].as_str() {
            "try" => allowed.entry(number(&line[1])).or_default().push(number(&line[2])),
            "write" if !synced_only => *allowed.entry(number(&line[1])).or_default() = vec![number(&line[2])],
            "sync" => allowed.values_mut().for_each(|all| drop(all.drain(..all.len() - 1))),
            _ => {}
        }
    }
    allowed
}

fn big_file(dir: &Path, journal: &[Vec<String>], synced_only: bool, verified: &mut Verified) {
    let Some(last_sync) = journal.iter().rposition(|line| line[0] == "sync") else { return };
    let certain: BTreeSet<u64> =
        journal[..last_sync].iter().filter(|line| line[0] == "write").map(|line| number(&line[1])).collect();
    let data = match fs::read(big::path(dir)) {
        Ok(data) => data,
        Err(error) => return verified.wrong.push(format!("the big file: {error}")),
    };
    for (block, generations) in allowed(journal, synced_only) {
        if synced_only && !certain.contains(&block) {
            continue;
        }
        verified.blocks += 1;
        let at = block as usize * big::BLOCK_BYTES;
        let Some(got) = data.get(at..at + big::BLOCK_BYTES) else {
            verified.wrong.push(format!("the big file ends before block {block}"));
            continue;
        };
        let right: Vec<Vec<u8>> = generations.iter().map(|generation| big::content(block, *generation)).collect();
        let bad = (0..big::BLOCK_BYTES).step_by(big::PAGE_BYTES).find(|page| {
            let range = *page..*page + big::PAGE_BYTES;
            !right.iter().any(|content| content[range.clone()] == got[range.clone()])
        });
        if let Some(page) = bad {
            let what = if got[page..page + big::PAGE_BYTES].iter().all(|byte| *byte == 0) { "zeros" } else { "bytes" };
            verified.wrong.push(format!(
                "the big file: block {block}, byte {}: {what} of no allowed generation of {generations:?}",
                at + page
            ));
        }
    }
}

/// Every name in the directories is one that a journal tells of.
fn strangers(dir: &Path, journals: &Path, verified: &mut Verified) {
    let mut known = BTreeSet::new();
    for worker in 0..2 {
        for line in read(journals, &format!("small{worker}")) {
            if line[0] == "try-make" {
                known.insert(format!("w{worker}-{}", line[1]));
                known.insert(format!("tmp-w{worker}-{}", line[1]));
            }
        }
    }
    for number in 0..small::DIRS {
        let listed = match fs::read_dir(dir.join(format!("d{number}"))) {
            Ok(listed) => listed,
            Err(error) => return verified.wrong.push(format!("d{number}: {error}")),
        };
        for entry in listed {
            match entry {
                Ok(entry) if known.contains(&*entry.file_name().to_string_lossy()) => {}
                Ok(entry) => {
                    verified.wrong.push(format!("d{number}: {:?} is there and nobody made it", entry.file_name()))
                }
                Err(error) => verified.wrong.push(format!("d{number}: {error}")),
            }
        }
    }
}
