// SPDX-License-Identifier: Apache-2.0

//! How far a check is ([`crate::progress`]), and a line in the log at the end of each pass.

use crate::progress::Shown;
use nyala_fsck::looked::Counts;
use std::cell::Cell;
use std::rc::Rc;

/// What a check is doing, for whoever asks meanwhile.
pub type Doing = Rc<Cell<Looked>>;

/// How far a pass is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    what: &'static str,
    counts: Counts,
    /// Rows and bytes that were compared with a mirror.
    compared: (u64, u64),
}

impl Looked {
    /// For people.
    pub fn line(self) -> String {
        let Looked { what, counts: Counts { names, inodes, chunks }, compared } = self;
        match (what, compared) {
            ("", _) => "it begins".to_owned(),
            (_, (0, 0)) => format!("{what}: {names} names, {inodes} inodes, {chunks} chunk files"),
            (_, (rows, bytes)) => format!("{what}: {rows} rows of metadata, {bytes} bytes of chunk files compared"),
        }
    }
}

/// Tells how far a pass is.
pub struct Progress {
    shown: Shown,
    looked: Looked,
    doing: Doing,
}

impl Progress {
    /// Of a pass.
    pub fn of(what: &'static str, doing: &Doing) -> Progress {
        let looked = Looked { what, ..Looked::default() };
        doing.set(looked);
        Progress { shown: Shown::default(), looked, doing: doing.clone() }
    }

    /// So much was looked at.
    pub fn tell(&mut self, counts: Counts) {
        self.looked.counts = counts;
        self.show();
    }

    /// So many more rows, and bytes of chunk files, were compared with a mirror.
    pub fn compared(&mut self, rows: u64, bytes: u64) {
        self.looked.compared = (self.looked.compared.0 + rows, self.looked.compared.1 + bytes);
        self.show();
    }

    fn show(&mut self) {
        let looked = self.looked;
        self.doing.set(looked);
        self.shown.tell(|| looked.line(), None);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let seconds = self.shown.began().elapsed().as_secs_f64();
        tracing::info!(pass = self.looked.what, "{} in {seconds:.1} s", self.looked.line());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_looked_at() {
        let doing = Doing::default();
        assert_eq!(doing.get().line(), "it begins");
        let mut first = Progress::of("first look", &doing);
        first.tell(Counts { names: 3, inodes: 4, chunks: 5 });
        assert_eq!(doing.get().line(), "first look: 3 names, 4 inodes, 5 chunk files");
        let mut mirrors = Progress::of("mirrors", &doing);
        mirrors.compared(7, 0);
        mirrors.compared(1, 4096);
        assert_eq!(doing.get().line(), "mirrors: 8 rows of metadata, 4096 bytes of chunk files compared");
    }
}
