// SPDX-License-Identifier: Apache-2.0

//! The history on disk: a file for each segment, `raw-TIME.seg` and `folded-TIME.seg`, how far the database is (`sent`), and the token.
//!
//! **Failure model.** The process may be killed at any moment: the last record of a segment may be torn, and is cut at the next start.
//! Segments are not synced: after a power cut the last minutes may be missing, never more than that is taken for whole. The disk may be full
//! or fail: the segment ends there, the history in memory goes on, and the next segment is tried again. Files may have been changed by
//! others: records have checksums, what follows a bad one in its segment is not used, and that is logged. A second process is kept out by a lock.

use crate::config::MonError;
use crate::files::{append, failed, read, unless_missing, write_whole};
use crate::logic::history::{Change, History, Limits, Tier};
use crate::logic::record::read_segment;
use crate::secrets::read_secret;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::Error;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longest segment that is read, bytes.
const LONGEST_SEGMENT: u64 = 1 << 30;

/// The directory of a monitoring service.
#[derive(Debug)]
pub struct Disk {
    dir: PathBuf,
    /// Segments in which a write has failed.
    broken: BTreeSet<(Tier, u64)>,
    _lock: File,
}

fn word(tier: Tier) -> &'static str {
    match tier {
        Tier::Raw => "raw",
        Tier::Folded => "folded",
    }
}

impl Disk {
    /// Takes the directory; makes it, if there is none.
    pub fn open(dir: &Path) -> Result<Disk, MonError> {
        fs::create_dir_all(dir).map_err(failed(dir))?;
        fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(failed(dir))?;
        let path = dir.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Disk { dir: dir.to_owned(), broken: BTreeSet::new(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(MonError::InUse(dir.to_owned())),
            Err(TryLockError::Error(cause)) => Err(failed(&path)(cause)),
        }
    }

    fn path(&self, tier: Tier, id: u64) -> PathBuf {
        // Names in the order of times.
        self.dir.join(format!("{}-{id:020}.seg", word(tier)))
    }

    /// The segments of a tier, oldest first.
    fn segments(&self, tier: Tier) -> Result<Vec<u64>, MonError> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed(&self.dir))? {
            let name = entry.map_err(failed(&self.dir))?.file_name();
            let id =
                name.to_str().and_then(|name| name.strip_prefix(word(tier))?.strip_prefix('-')?.strip_suffix(".seg"));
            ids.extend(id.and_then(|id| id.parse::<u64>().ok()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Reads the history, and cuts what is torn.
    pub fn load(&mut self, limits: Limits) -> Result<History, MonError> {
        let mut history = History::new(limits);
        for tier in Tier::ALL {
            let ids = self.segments(tier)?;
            for id in &ids {
                let path = self.path(tier, *id);
                let bytes = read(&path, LONGEST_SEGMENT).map_err(failed(&path))?;
                let (rounds, open, good) = read_segment(&bytes);
                if good < bytes.len() {
                    let (of, last) = (bytes.len(), Some(id) == ids.last());
                    tracing::warn!(path = %path.display(), good, of, last, "the segment is torn or damaged; what follows is cut");
                    let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(good as u64));
                    cut.map_err(failed(&path))?;
                }
                if rounds.is_empty() {
                    fs::remove_file(&path).map_err(failed(&path))?;
                    continue;
                }
                history.restore(tier, *id, rounds, open, good as u64);
            }
        }
        let changes = history.restored();
        self.carry_out(&changes);
        Ok(history)
    }

    /// Does what the history asks for; returns how much of it failed.
    pub fn carry_out(&mut self, changes: &[Change]) -> u64 {
        let mut failures = 0;
        for change in changes {
            match change {
                Change::Append(tier, id, _) if self.broken.contains(&(*tier, *id)) => {}
                Change::Append(tier, id, bytes) => {
                    let path = self.path(*tier, *id);
                    if let Err(error) = append(&path, bytes) {
                        tracing::error!(%error, path = %path.display(), "the history is not written; it goes on in memory");
                        self.broken.insert((*tier, *id));
                        failures += 1;
                    }
                }
                Change::Remove(tier, id) => {
                    self.broken.remove(&(*tier, *id));
                    let path = self.path(*tier, *id);
                    if let Err(error) = fs::remove_file(&path).or_else(unless_missing) {
                        tracing::error!(%error, path = %path.display(), "a segment that is too old cannot be removed");
                        failures += 1;
                    }
                }
            }
        }
        failures
    }

    /// How far the database is, milliseconds since 1970; 0 if that is not known.
    pub fn sent_ms(&self) -> u64 {
        let text = read(&self.dir.join("sent"), 64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Notes how far the database is. An older note only makes that points are written once more.
    pub fn set_sent_ms(&self, sent_ms: u64) -> Result<(), Error> {
        write_whole(&self.dir.join("sent"), &format!("{sent_ms}\n"))
    }

    /// The token for queries; made, if there is none.
    pub fn token(&self) -> Result<String, MonError> {
        let path = self.dir.join("mon.token");
        if !path.exists() {
            let mut random = [0_u8; 32];
            getrandom::fill(&mut random).map_err(|error| failed(&path)(Error::other(error.to_string())))?;
            let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            write_whole(&path, &format!("{text}\n")).map_err(failed(&path))?;
        }
        read_secret(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::series::{Field, Key, Kind};
    use crate::secrets::token_is_good;
    use nyala_metrics::catalog::Source;

    const LIMITS: Limits =
        Limits { raw_ms: 1 << 40, folded_ms: 1 << 40, step_ms: 60_000, series: 10, memory: 1 << 30, disk: 1 << 30 };

    fn round(value: i64) -> Vec<(Key, i64)> {
        let key = Key {
            metric: "m".into(),
            service: Source::Meta,
            instance: "meta1".into(),
            labels: Vec::new(),
            field: Field::Value,
            kind: Kind::Counter,
            micros: false,
        };
        vec![(key, value)]
    }

    fn times(history: &History) -> Vec<u64> {
        history.blocks(Tier::Raw).flat_map(|block| block.times().iter().copied()).collect()
    }

    #[test]
    fn a_history_outlives_its_process_and_torn_files() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = Disk::open(dir.path()).unwrap();
        assert!(matches!(Disk::open(dir.path()), Err(MonError::InUse(_))));
        let mut history = disk.load(LIMITS).unwrap();
        for number in 1..=100 {
            assert_eq!(disk.carry_out(&history.sample(number * 1000, round(number as i64))), 0);
        }
        drop(disk);
        let path = dir.path().join(format!("raw-{:020}.seg", 61_000));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        fs::write(dir.path().join("raw-00000000000000200000.seg"), "no segment").unwrap();
        let mut disk = Disk::open(dir.path()).unwrap();
        let mut history = disk.load(LIMITS).unwrap();
        assert_eq!(times(&history), (1..100).map(|number| number * 1000).collect::<Vec<_>>());
        // It goes on in the same file.
        disk.carry_out(&history.sample(100_000, round(7)));
        drop(disk);
        let history = Disk::open(dir.path()).unwrap().load(LIMITS).unwrap();
        assert_eq!((times(&history).len(), history.disk()), (100, files(dir.path())));
    }

    fn files(dir: &Path) -> u64 {
        let segments = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        segments
            .filter(|entry| entry.file_name().to_str().unwrap().ends_with(".seg"))
            .map(|entry| entry.metadata().unwrap().len())
            .sum()
    }

    #[test]
    fn a_disk_that_fails_ends_a_segment_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = Disk::open(dir.path()).unwrap();
        let mut history = disk.load(LIMITS).unwrap();
        // A directory where the second segment would be.
        fs::create_dir(dir.path().join(format!("raw-{:020}.seg", 61_000))).unwrap();
        let failures: u64 = (1..=130).map(|number| disk.carry_out(&history.sample(number * 1000, round(1)))).sum();
        assert_eq!((failures, times(&history).len()), (1, 130));
        fs::remove_dir(dir.path().join(format!("raw-{:020}.seg", 61_000))).unwrap();
        drop(disk);
        let history = Disk::open(dir.path()).unwrap().load(LIMITS).unwrap();
        assert_eq!(times(&history).len(), 70, "the first and the third segment");
    }

    #[test]
    fn tokens_and_notes() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::open(dir.path()).unwrap();
        let token = disk.token().unwrap();
        assert!(token_is_good(&token) && disk.token().unwrap() == token);
        let path = dir.path().join("mon.token");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(disk.token().unwrap_err().to_string().contains("chmod 600"));
        assert_eq!(disk.sent_ms(), 0);
        disk.set_sent_ms(77).unwrap();
        assert_eq!(disk.sent_ms(), 77);
    }
}
