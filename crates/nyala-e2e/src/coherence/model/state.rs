// SPDX-License-Identifier: Apache-2.0

//! The model: a file system in memory, as root sees a local one.

use std::collections::{BTreeMap, HashMap};

/// An error, by its number.
pub type Errno = i32;

/// What an inode is.
#[derive(Clone, Debug)]
pub enum Body {
    /// Its content.
    File(Vec<u8>),
    /// Its entries.
    Dir(BTreeMap<String, usize>),
    /// Its target.
    Link(String),
}

/// An inode.
#[derive(Clone, Debug)]
pub struct Inode {
    /// Content, entries or target.
    pub body: Body,
    /// Permission bits.
    pub mode: u32,
    /// Names.
    pub nlink: u32,
    /// The one extended attribute that is used.
    pub xattr: Option<u64>,
}

/// The directory that the test works in.
pub struct State {
    /// All inodes ever made; 0 is the directory.
    pub inodes: Vec<Inode>,
    /// Open files: (mount, number) to inode.
    pub handles: HashMap<(usize, u64), usize>,
}

/// A name in a directory that exists, and what it names.
pub struct Name {
    /// The directory.
    pub dir: usize,
    /// The name.
    pub name: String,
    /// What is there.
    pub found: Option<usize>,
}

impl State {
    /// An empty directory.
    pub fn new() -> State {
        let root = Inode { body: Body::Dir(BTreeMap::new()), mode: 0o755, nlink: 2, xattr: None };
        State { inodes: vec![root], handles: HashMap::new() }
    }

    /// The directory's entries.
    pub fn entries(&mut self, dir: usize) -> Result<&mut BTreeMap<String, usize>, Errno> {
        match &mut self.inodes[dir].body {
            Body::Dir(entries) => Ok(entries),
            // A symbolic link on the way leads nowhere.
            Body::Link(_) => Err(libc::ENOENT),
            Body::File(_) => Err(libc::ENOTDIR),
        }
    }

    /// Finds a name; the directories on the way must exist.
    pub fn resolve(&mut self, path: &str) -> Result<Name, Errno> {
        let (mut dir, mut names) = (0, path.split('/').peekable());
        loop {
            // why: a split text has at least one part, and the last returns.
            let name = names.next().expect("a path has a last name").to_owned();
            let found = self.entries(dir)?.get(&name).copied();
            if names.peek().is_none() {
                return Ok(Name { dir, name, found });
            }
            dir = found.ok_or(libc::ENOENT)?;
        }
    }

    /// What a name names, not following a symbolic link.
    pub fn inode(&mut self, path: &str) -> Result<usize, Errno> {
        self.resolve(path)?.found.ok_or(libc::ENOENT)
    }

    /// The same, following it: all lead nowhere.
    pub fn followed(&mut self, path: &str) -> Result<usize, Errno> {
        let inode = self.inode(path)?;
        if matches!(self.inodes[inode].body, Body::Link(_)) { Err(libc::ENOENT) } else { Ok(inode) }
    }

    /// A file's content.
    pub fn content(&mut self, inode: usize) -> Result<&mut Vec<u8>, Errno> {
        match &mut self.inodes[inode].body {
            Body::File(content) => Ok(content),
            Body::Dir(_) => Err(libc::EISDIR),
            Body::Link(_) => Err(libc::ENOENT),
        }
    }

    /// Whether it is a directory.
    pub fn is_dir(&self, inode: usize) -> bool {
        matches!(self.inodes[inode].body, Body::Dir(_))
    }

    /// Makes an inode at a free name.
    pub fn make(&mut self, at: &Name, body: Body, mode: u32) -> usize {
        let is_dir = matches!(body, Body::Dir(_));
        self.inodes.push(Inode { body, mode, nlink: 1 + u32::from(is_dir), xattr: None });
        let made = self.inodes.len() - 1;
        self.enter(at, made);
        made
    }

    /// Puts an inode at a name; what was there must be gone.
    pub fn enter(&mut self, at: &Name, inode: usize) {
        if self.is_dir(inode) {
            self.inodes[at.dir].nlink += 1;
        }
        // why: only directories that were found get here.
        self.entries(at.dir).expect("a name is in a directory").insert(at.name.clone(), inode);
    }

    /// Takes a name away.
    pub fn leave(&mut self, at: &Name) {
        // why: only directories that were found get here.
        let gone = self.entries(at.dir).expect("a name is in a directory").remove(&at.name);
        if gone.is_some_and(|inode| self.is_dir(inode)) {
            self.inodes[at.dir].nlink -= 1;
        }
    }

    /// Whether a directory is another, or somewhere in it.
    pub fn is_below(&mut self, dir: usize, above: usize) -> bool {
        if dir == above {
            return true;
        }
        let below: Vec<usize> = match &self.inodes[above].body {
            Body::Dir(entries) => entries.values().copied().collect(),
            _ => Vec::new(),
        };
        below.into_iter().any(|child| self.is_dir(child) && self.is_below(dir, child))
    }
}

/// Writes into content, which grows if need be.
pub fn write(content: &mut Vec<u8>, at: u64, data: &[u8]) {
    let (at, end) = (at as usize, at as usize + data.len());
    if data.is_empty() {
        return;
    }
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(data);
}

/// Reads what is there.
pub fn read(content: &[u8], at: u64, len: u64) -> &[u8] {
    let start = (at as usize).min(content.len());
    &content[start..(start + len as usize).min(content.len())]
}
