// SPDX-License-Identifier: Apache-2.0

//! Damaged tables on disk: put aside, and removed once the member has everything again.
//!
//! Failure model: each step is a rename or a removal of a directory that nobody has open. A crash between them leaves the tables in their
//! place, or none there, which is an empty member that its group knows to be one. Where the disk has no room for both, the damaged
//! tables go at once: another member has everything. A disk that damages again and again what it is given is given up.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// So often one process begins anew with empty tables.
const MOST: u32 = 3;
/// Where damaged tables are kept meanwhile.
const ASIDE: &str = "tables.damaged";

/// What a service knows of its tables from run to run.
pub struct Refill {
    dir: PathBuf,
    wanted: Cell<bool>,
    times: Cell<u32>,
    /// Whether damaged tables may lie there.
    aside: Cell<bool>,
}

impl Refill {
    /// Of the service in a directory.
    pub fn new(dir: &Path) -> Refill {
        let aside = Cell::new(dir.join(ASIDE).exists());
        Refill { dir: dir.to_owned(), wanted: Cell::new(false), times: Cell::new(0), aside }
    }

    /// Where the tables are.
    pub fn tables(&self) -> PathBuf {
        self.dir.join("tables")
    }

    /// Whether this process tries it once more.
    pub fn may_begin(&self) -> bool {
        self.times.get() < MOST
    }

    /// The tables are to be put aside at the next start.
    pub fn begin(&self) {
        self.wanted.set(true);
    }

    /// Whether that is so. It is forgotten with the answer.
    pub fn take_wanted(&self) -> bool {
        self.wanted.take()
    }

    /// Puts the tables aside. What was there from an earlier time goes.
    pub fn put_aside(&self) -> io::Result<()> {
        self.times.set(self.times.get() + 1);
        let (tables, aside) = (self.tables(), self.dir.join(ASIDE));
        remove(&aside)?;
        let fits = bytes_below(&tables)? <= nyala_transport::member::capacity(&self.dir).free_bytes;
        fs::rename(&tables, &aside)?;
        if !fits {
            remove(&aside)?;
        }
        self.aside.set(fits);
        fs::File::open(&self.dir)?.sync_all()
    }

    /// The member has everything again: what was put aside is not needed any more.
    pub async fn over(&self) {
        if !self.aside.replace(false) {
            return;
        }
        let aside = self.dir.join(ASIDE);
        let removed = tokio::task::spawn_blocking(move || remove(&aside)).await;
        match removed.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => tracing::info!("the metadata tables are whole again; the damaged ones are removed"),
            Err(error) => tracing::warn!(%error, "damaged metadata tables that were put aside are not removed"),
        }
    }
}

fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn bytes_below(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_below(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn tables_are_put_aside_until_it_is_over_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let refill = Refill::new(dir.path());
        assert!(!refill.take_wanted() && refill.may_begin());
        refill.begin();
        assert!(refill.take_wanted() && !refill.take_wanted());
        for round in 0..MOST {
            fs::create_dir_all(refill.tables().join("log")).unwrap();
            fs::write(refill.tables().join("log/1"), [round as u8]).unwrap();
            refill.put_aside().unwrap();
            assert_eq!(fs::read(dir.path().join(ASIDE).join("log/1")).unwrap(), [round as u8], "the newest");
            assert_eq!(names(dir.path()), [ASIDE]);
        }
        assert!(!refill.may_begin());
        // Another process finds them too.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(Refill::new(dir.path()).over());
        assert_eq!(names(dir.path()), [] as [&str; 0]);
        assert!(Refill::new(dir.path()).put_aside().is_err(), "there are no tables");
    }
}
