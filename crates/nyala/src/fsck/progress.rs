// SPDX-License-Identifier: Apache-2.0

//! How far a check is ([`crate::progress`]), and a line in the log at the end of each pass.

use crate::progress::Shown;
use nyala_fsck::looked::Counts;

/// Tells how far a pass is.
pub struct Progress {
    what: &'static str,
    shown: Shown,
    counts: Counts,
    /// Rows and bytes that were compared with a mirror.
    compared: (u64, u64),
}

impl Progress {
    /// Of a pass.
    pub fn of(what: &'static str) -> Progress {
        Progress { what, shown: Shown::default(), counts: Counts::default(), compared: (0, 0) }
    }

    /// So much was looked at.
    pub fn tell(&mut self, counts: Counts) {
        self.counts = counts;
        self.show();
    }

    /// So many more rows, and bytes of chunk files, were compared with a mirror.
    pub fn compared(&mut self, rows: u64, bytes: u64) {
        self.compared = (self.compared.0 + rows, self.compared.1 + bytes);
        self.show();
    }

    fn show(&mut self) {
        let (counts, compared, what) = (self.counts, self.compared, self.what);
        self.shown.tell(|| line(what, counts, compared), None);
    }
}

fn line(what: &str, counts: Counts, compared: (u64, u64)) -> String {
    let Counts { names, inodes, chunks } = counts;
    match compared {
        (0, 0) => format!("{what}: {names} names, {inodes} inodes, {chunks} chunk files"),
        (rows, bytes) => format!("{what}: {rows} rows of metadata, {bytes} bytes of chunk files compared"),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let seconds = self.shown.began().elapsed().as_secs_f64();
        tracing::info!(pass = self.what, "{} in {seconds:.1} s", line(self.what, self.counts, self.compared));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_looked_at() {
        let counts = Counts { names: 3, inodes: 4, chunks: 5 };
        assert_eq!(line("first look", counts, (0, 0)), "first look: 3 names, 4 inodes, 5 chunk files");
        let mut mirrors = Progress::of("mirrors");
        mirrors.compared(7, 0);
        mirrors.compared(1, 4096);
        let said = line("mirrors", mirrors.counts, mirrors.compared);
        assert_eq!(said, "mirrors: 8 rows of metadata, 4096 bytes of chunk files compared");
    }
}
