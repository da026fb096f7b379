// SPDX-License-Identifier: Apache-2.0

//! Busy files and directories, as the page has them.

use nyala_mon::Busy;
use nyala_mon::logic::busy::BusyRow;
use nyala_web::{Figures, FileFigures};

/// Figures with them.
pub(crate) fn with_busy(figures: Figures, busy: &Busy) -> Figures {
    let rows = |rows: &[BusyRow]| rows.iter().map(row).collect();
    Figures { files: rows(&busy.files), directories: rows(&busy.directories), ..figures }
}

fn row(busy: &BusyRow) -> FileFigures {
    let path = busy.path.clone().unwrap_or_else(|| format!("inode {}", busy.inode));
    let BusyRow { requests, changes, read_bytes: read, written_bytes: written, .. } = *busy;
    FileFigures { path, requests, changes, read, written }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    #[test]
    fn what_has_no_path_has_its_number() {
        let busy = BusyRow { inode: InodeId(42), requests: 3.0, read_bytes: 7.0, ..BusyRow::default() };
        let named = BusyRow { path: Some("/a".to_owned()), ..busy.clone() };
        let busy = Busy { files: vec![busy, named.clone()], directories: vec![named], ..Busy::default() };
        let figures = with_busy(Figures::default(), &busy);
        let paths: Vec<&str> = figures.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths, figures.files[0].read), (vec!["inode 0000-00000000002a", "/a"], 7.0));
        assert_eq!(figures.directories[0].path, "/a");
    }
}
