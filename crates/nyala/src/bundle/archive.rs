// SPDX-License-Identifier: Apache-2.0

//! The archive that a bundle is: a gzipped tar of bounded size, every byte of which passed the scrubber.

use super::scrub::Scrub;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::{self, Write};

/// Directory of everything in the archive.
const TOP: &str = "nyala-bundle";
/// Kept for the list of contents, which comes last, bytes.
const FOR_MANIFEST: u64 = 1 << 20;

/// Something in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name, below the directory of the archive.
    pub name: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// What was left out of it, if something was.
    pub cut: Option<String>,
}

/// Something that is not in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// What there is and what is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// What is in the archive.
    pub entries: Vec<Entry>,
    /// What is not.
    pub missing: Vec<Missing>,
}

/// An archive that is being written.
pub struct Archive<W: Write> {
    tar: tar::Builder<GzEncoder<W>>,
    scrub: Scrub,
    /// Bytes that may still be added.
    left: u64,
    contents: Contents,
}

impl<W: Write> Archive<W> {
    /// An archive whose entries have at most so many bytes together, before they are compressed.
    pub fn new(out: W, scrub: Scrub, most: u64) -> Archive<W> {
        let tar = tar::Builder::new(GzEncoder::new(out, Compression::default()));
        Archive { tar, scrub, left: most.saturating_sub(FOR_MANIFEST), contents: Contents::default() }
    }

    /// Adds a file, or names it as missing where there is no room for it.
    pub fn add(&mut self, name: &str, bytes: &[u8], cut: Option<String>) -> io::Result<()> {
        let name = self.scrub.text(name);
        let bytes = self.scrub.bytes(bytes);
        let size = bytes.len() as u64;
        if size > self.left {
            self.missing(&name, "the bundle would be larger than --most allows");
            return Ok(());
        }
        self.left -= size;
        self.write(&name, &bytes)?;
        self.contents.entries.push(Entry { name, bytes: size, cut });
        Ok(())
    }

    /// Adds a value as JSON.
    pub fn add_json(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.add(name, text.as_bytes(), None)
    }

    /// Says that something is not there, and why.
    pub fn missing(&mut self, what: &str, why: &str) {
        let (what, why) = (self.scrub.text(what), self.scrub.text(why));
        self.contents.missing.push(Missing { what, why });
    }

    /// Adds the list of contents and ends the archive. Returns what it was written to.
    pub fn finish(mut self) -> io::Result<(W, Contents)> {
        let text = serde_json::to_string_pretty(&self.contents).map_err(io::Error::other)?;
        self.write("manifest.json", text.as_bytes())?;
        Ok((self.tar.into_inner()?.finish()?, self.contents))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, format!("{TOP}/{name}"), bytes)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;

    /// The files of an archive.
    pub fn open(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let (name, mut content) = (entry.path().unwrap().display().to_string(), Vec::new());
            entry.read_to_end(&mut content).unwrap();
            (name, content)
        });
        entries.collect()
    }

    #[test]
    fn what_is_added_can_be_read_and_what_is_too_much_is_named() {
        let mut archive = Archive::new(Vec::new(), Scrub::default(), FOR_MANIFEST + 10);
        archive.add("a.txt", b"12345678", Some("the beginning".into())).unwrap();
        archive.add("b.txt", b"123", None).unwrap();
        archive.add("c.txt", b"12", None).unwrap();
        archive.missing("node 3", "it is away");
        let (bytes, contents) = archive.finish().unwrap();
        let files = open(&bytes);
        assert_eq!(
            files.keys().map(String::as_str).collect::<Vec<_>>(),
            ["nyala-bundle/a.txt", "nyala-bundle/c.txt", "nyala-bundle/manifest.json"]
        );
        assert_eq!(files["nyala-bundle/a.txt"], b"12345678");
        let said: Vec<&str> = contents.missing.iter().map(|missing| missing.what.as_str()).collect();
        assert_eq!(said, ["b.txt", "node 3"]);
        let manifest = String::from_utf8(files["nyala-bundle/manifest.json"].clone()).unwrap();
        assert!(manifest.contains("the beginning") && manifest.contains("it is away"), "{manifest}");
    }
}
