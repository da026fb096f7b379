// SPDX-License-Identifier: Apache-2.0

//! What is in the report of a host, as a part of the bundle. Failure model: see [`super::hosts`].

use super::archive::Archive;
use flate2::read::GzDecoder;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

/// Adds what is in a report, as far as it is what reports are.
pub fn unpack<W: Write>(archive: &mut Archive<W>, host: &str, report: &[u8], most: u64) -> io::Result<()> {
    let mut left = most;
    let outcome = (|| {
        for entry in tar::Archive::new(GzDecoder::new(report)).entries()? {
            let mut entry = entry?;
            let name = below_top(&entry.path()?);
            let mut content = Vec::new();
            let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut content)? as u64;
            let Some(name) = name.filter(|_| read <= left) else {
                return Err(io::Error::other("it is not what a report is"));
            };
            left -= read;
            archive.add(&format!("hosts/{host}/{name}"), &content, None)?;
        }
        Ok(())
    })();
    outcome.or_else(|error: io::Error| {
        archive.missing(&format!("the rest of the report of {host}"), &error.to_string());
        Ok(())
    })
}

/// A name in an archive without its first directory, if it leads nowhere else.
fn below_top(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let (_, rest) = parts.as_deref()?.split_first()?;
    (!rest.is_empty()).then(|| rest.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::archive::tests::open;
    use crate::bundle::scrub::Scrub;

    fn unpacked(report: &[u8], most: u64) -> (Vec<String>, Vec<String>) {
        let mut archive = Archive::new(Vec::new(), Scrub::default(), 16 << 20);
        unpack(&mut archive, "4-meta1", report, most).unwrap();
        let (bytes, contents) = archive.finish().unwrap();
        (open(&bytes).into_keys().collect(), contents.missing.into_iter().map(|missing| missing.what).collect())
    }

    #[test]
    fn what_a_host_reports_lies_in_its_directory_and_nowhere_else() {
        let mut report = Archive::new(Vec::new(), Scrub::default(), 16 << 20);
        report.add("logs/a.log", &[b'x'; 5000], None).unwrap();
        let (report, _) = report.finish().unwrap();
        let (names, missing) = unpacked(&report, 1 << 20);
        assert!(names.contains(&"nyala-bundle/hosts/4-meta1/logs/a.log".to_owned()), "{names:?}");
        assert!(names.contains(&"nyala-bundle/hosts/4-meta1/manifest.json".to_owned()) && missing.is_empty());
        // More than was asked for, and what is no archive, is named.
        for (report, most) in [(&report[..], 4999), (&report[..report.len() / 2], 1 << 20), (b"no archive", 1 << 20)] {
            let (names, missing) = unpacked(report, most);
            assert_eq!((names.len(), missing), (1, vec!["the rest of the report of 4-meta1".to_owned()]));
        }
        for path in ["top/../../x", "/etc/x", "top", "top/a/../b"] {
            assert_eq!(below_top(Path::new(path)), None, "{path}");
        }
        assert_eq!(below_top(Path::new("top/a/b")), Some("a/b".to_owned()));
    }
}
