// SPDX-License-Identifier: Apache-2.0

//! What was put into the file system, and whether that is what a client finds.

use nyala_client::{Client, Error, SetXattr};
use nyala_wire::meta::Owner;
use nyala_wire::stripe::Pattern;
use nyala_wire::{Attr, ErrorCode, InodeId, StripePattern};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

const ROOT: InodeId = InodeId::ROOT;
const OWNER: Owner = Owner { uid: 0, gid: 0 };
const XATTR: &[u8] = b"user.kept";
/// What waits for so long waits for something that is not there.
const LIMIT: Duration = Duration::from_secs(15);

/// Where a directory's files have their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPlace {
    Inline,
    /// Striped over both targets.
    Striped,
    /// On the mirror group.
    Mirrored,
}

pub const DATA_PLACES: [(DataPlace, &str); 3] =
    [(DataPlace::Inline, "inline"), (DataPlace::Striped, "striped"), (DataPlace::Mirrored, "mirrored")];

#[derive(Clone, Debug)]
struct Entry {
    attr: Attr,
    /// Of a file, or the target of a symbolic link.
    content: Vec<u8>,
    xattr: Option<Vec<u8>>,
}

/// What is there, by directory and name.
#[derive(Clone, Default, Debug)]
pub struct Model {
    dirs: BTreeMap<&'static str, (InodeId, BTreeMap<String, Entry>)>,
    /// Names of which nobody was told whether they are there.
    doubtful: Vec<(&'static str, String)>,
}

/// Bytes that no other file has.
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut random = nyala_wire::SplitMix64::new(seed);
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

/// What a client found that is not as it was put there.
#[derive(Default, Debug)]
pub struct Seen {
    /// Another answer than the right one or an error.
    pub wrong: Vec<String>,
    /// Errors, by place; metadata's count as inline.
    pub errors: BTreeMap<&'static str, Vec<String>>,
    pub right: usize,
}

impl Seen {
    /// The answer; notes an error, which is wrong if it says that something is not there.
    async fn answer<T>(
        &mut self,
        place: &'static str,
        what: &str,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Option<T> {
        let asked = tokio::time::timeout(LIMIT, asked).await;
        match asked {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => {
                let code = error.code();
                let fair = [ErrorCode::IO, ErrorCode::TIMED_OUT];
                if !fair.contains(&code) {
                    self.wrong.push(format!("{what}: {code}: {error}"));
                }
                self.errors.entry(place).or_default().push(format!("{what}: {error}"));
            }
            Err(_) => self.errors.entry(place).or_default().push(format!("{what}: no answer for {LIMIT:?}")),
        }
        None
    }

    fn is(&mut self, what: &str, right: bool, detail: impl FnOnce() -> String) {
        match right {
            true => self.right += 1,
            false => self.wrong.push(format!("{what}: {}", detail())),
        }
    }
}

/// All of a file.
pub async fn read_all(client: &Client, inode: InodeId, size: u64) -> Result<Vec<u8>, Error> {
    let handle = client.open(inode, Default::default()).await?;
    let read = handle.read(0, size as usize + 100).await.map(|pieces| pieces.concat());
    let released = handle.release().await;
    let read = read?;
    released.map(|()| read)
}

async fn names(client: &Client, dir: InodeId) -> Result<Vec<String>, Error> {
    let (mut after, mut all) = (0, Vec::new());
    loop {
        let listing = client.readdir(dir, after, 50, false).await?;
        all.extend(listing.entries.iter().map(|entry| String::from_utf8_lossy(entry.name.as_bytes()).into_owned()));
        if listing.end {
            all.sort();
            return Ok(all);
        }
        after = listing.entries.last().map_or(after, |entry| entry.cookie);
    }
}

impl Model {
    /// The directories.
    pub async fn begin(client: &Client, pattern: StripePattern) -> Result<Model, Error> {
        let mut model = Model::default();
        for (place, name) in DATA_PLACES {
            let inode = client.mkdir(ROOT, name.as_bytes(), 0o755, OWNER).await?.inode;
            let inline_bytes = if place == DataPlace::Inline { 16 << 10 } else { 0 };
            let (pattern, num_targets) = match place {
                DataPlace::Mirrored => (StripePattern { pattern: Pattern::Mirror, ..pattern }, 1),
                _ => (pattern, 2),
            };
            client.set_pattern(inode, StripePattern { inline_bytes, num_targets, ..pattern }).await?;
            model.dirs.insert(name, (inode, BTreeMap::new()));
        }
        Ok(model)
    }

    /// Makes a file, synced.
    pub async fn put(&mut self, client: &Client, dir: &'static str, name: &str, content: Vec<u8>) -> Result<(), Error> {
        let (parent, entries) = self.dirs.get_mut(dir).expect("it was made");
        let (attr, handle) = client.create(*parent, name.as_bytes(), 0o640, OWNER, true).await?;
        handle.write(0, &content).await?;
        handle.fsync(false).await?;
        handle.release().await?;
        let attr = client.getattr(attr.inode).await?;
        entries.insert(name.to_owned(), Entry { attr, content, xattr: None });
        Ok(())
    }

    /// Things of all kinds, synced.
    pub async fn fill(&mut self, client: &Client, round: u64) -> Result<(), Error> {
        for number in 0..24_u64 {
            let (name, seed) = (format!("f{round}-{number}"), round << 32 | number);
            // Small ones, ones around a page of the tables, and ones that need several.
            let len = [0, 1, 100, 900, 2040, 4076, 4090, 9000][number as usize % 8];
            self.put(client, "inline", &name, pattern(seed, len)).await?;
            let (dir, entries) = self.dirs.get_mut("inline").expect("it was made");
            let entry = entries.get_mut(&name).expect("it was put");
            if number.is_multiple_of(3) {
                let value = pattern(seed ^ 1, 20 + number as usize * 40);
                client.setxattr(entry.attr.inode, XATTR, &value, SetXattr::default()).await?;
                entry.xattr = Some(value);
            }
            if number.is_multiple_of(6) {
                let other = format!("l{round}-{number}");
                client.link(entry.attr.inode, *dir, other.as_bytes()).await?;
                let linked = entry.clone();
                entries.insert(other, linked);
                let (other, target) =
                    (format!("s{round}-{number}"), pattern(seed ^ 2, 8).iter().map(|b| b | 64).collect());
                let target: Vec<u8> = target;
                let attr = client.symlink(*dir, other.as_bytes(), &target, OWNER).await?;
                entries.insert(other, Entry { attr, content: target, xattr: None });
            }
        }
        for number in 0..120_u64 {
            self.put(client, "inline", &format!("n{round}-{number}"), Vec::new()).await?;
        }
        for number in 0..3_u64 {
            for dir in ["striped", "mirrored"] {
                let seed = round << 32 | 1000 | number << 16 | u64::from(dir == "striped");
                let len = 30_000 + number as usize * 70_001;
                self.put(client, dir, &format!("f{round}-{number}"), pattern(seed, len)).await?;
            }
        }
        client.sync_all().await?;
        for (dir, _) in self.dirs.clone().values() {
            client.fsync_dir(*dir).await?;
        }
        self.note_attributes(client).await
    }

    async fn note_attributes(&mut self, client: &Client) -> Result<(), Error> {
        for (_, entries) in self.dirs.values_mut() {
            for entry in entries.values_mut() {
                entry.attr = client.getattr(entry.attr.inode).await?;
            }
        }
        Ok(())
    }

    /// A name that may be there or not.
    pub fn may_have(&mut self, dir: &'static str, name: &str) {
        self.doubtful.push((dir, name.to_owned()));
    }

    /// Inodes and content of what a directory has.
    pub fn files(&self, dir: &str) -> impl Iterator<Item = (InodeId, &[u8])> {
        self.dirs[dir].1.values().map(|entry| (entry.attr.inode, &entry.content[..]))
    }

    /// Compares what a client finds with what was put there: all names and content of the places.
    pub async fn look(&self, client: &Client, places: &[DataPlace]) -> Seen {
        let mut seen = Seen::default();
        for (place, name) in DATA_PLACES.into_iter().filter(|(place, _)| places.contains(place)) {
            let (dir, entries) = &self.dirs[name];
            let found =
                seen.answer("inline", &format!("look-up of {name}"), client.lookup(ROOT, name.as_bytes())).await;
            if let Some(found) = found {
                seen.is(name, found.inode == *dir, || "another directory".into());
            }
            if let Some(mut found) = seen.answer("inline", &format!("ls {name}"), names(client, *dir)).await {
                found.retain(|found| !self.doubtful.iter().any(|(dir, doubtful)| *dir == name && doubtful == found));
                let missing: Vec<_> = entries.keys().filter(|name| !found.contains(name)).collect();
                seen.is(name, found.iter().eq(entries.keys()), || {
                    format!("{} names of {}, missing {missing:?}", found.len(), entries.len())
                });
            }
            let data = if place == DataPlace::Inline { "inline" } else { name };
            for (entry_name, entry) in entries {
                let what = format!("{name}/{entry_name}");
                seen.entry(client, *dir, (&what, data), entry_name, entry).await;
            }
        }
        seen
    }
}

impl Seen {
    async fn entry(
        &mut self,
        client: &Client,
        dir: InodeId,
        (what, data): (&str, &'static str),
        name: &str,
        entry: &Entry,
    ) {
        let Some(found) = self.answer("inline", what, client.lookup(dir, name.as_bytes())).await else { return };
        let known = &entry.attr;
        let key = |attr: &Attr| (attr.inode, attr.kind, attr.perm, attr.nlink, attr.size, attr.mtime);
        self.is(what, key(&found) == key(known), || format!("{:?} in place of {:?}", key(&found), key(known)));
        let content = match known.kind == nyala_wire::FileKind::Symlink {
            true => self.answer(data, what, client.readlink(known.inode)).await,
            false => self.answer(data, what, read_all(client, known.inode, known.size)).await,
        };
        if let Some(content) = content {
            self.is(what, content == entry.content, || {
                let at = content.iter().zip(&entry.content).position(|(a, b)| a != b);
                let (found, put) = (content.len(), entry.content.len());
                format!("WRONG DATA: {found} bytes, {put} were put there, the first difference is at {at:?}")
            });
        }
        if let Some(value) = &entry.xattr
            && let Some(found) =
                self.answer("inline", &format!("xattr of {what}"), client.getxattr(known.inode, XATTR)).await
        {
            self.is(what, found == *value, || "another attribute".into());
        }
    }
}
