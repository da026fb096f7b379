// SPDX-License-Identifier: Apache-2.0

//! Who a directory is: `target.toml` of a target, `node.toml` of the service, and the `LOCK` beside them.
//!
//! **Failure model.** The directory may be new, another cluster's, another kind's, a newer version's, in use, moved to
//! another file system, or its file may be cut off, changed by the disk (it has a checksum) or foreign. The file is written to a temporary name, synced and
//! renamed, so it is there whole or not at all. The directory and its files are made, or on opening
//! tightened to be, private to this user. It is there *before* the first registration, without ids, so that a
//! service that dies in between registers as the same again. Whatever is not plainly ours is refused and left alone.

use nyala_wire::checksum::crc32c;
use nyala_wire::{ClusterId, TargetId};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Format version of directories.
pub const FORMAT: u32 = 1;

/// What kind of directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A metadata target.
    MetaTarget,
    /// A storage target.
    StorageTarget,
    /// A storage service's own directory.
    StorageNode,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::MetaTarget => "meta",
            Kind::StorageTarget => "storage",
            Kind::StorageNode => "storage-node",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Kind::MetaTarget | Kind::StorageTarget => "target.toml",
            Kind::StorageNode => "node.toml",
        }
    }
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Format version.
    pub format: u32,
    /// `meta`, `storage` or `storage-node`.
    pub kind: String,
    /// The cluster; all zero until the first registration.
    pub cluster: ClusterId,
    /// Random, made once; copies of the directory share it, and only one of them is served.
    pub uuid: ClusterId,
    /// The target's id; 0 until the first registration, and for the service's own directory.
    pub target: TargetId,
    /// UUID of the file system that the directory was made on, all zero if that has none; absent where the kernel does
    /// not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<ClusterId>,
    /// CRC-32C of the other values but `file_system`, which an operator may remove; absent in what older builds wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl Identity {
    /// With the checksum of what it says.
    pub(crate) fn sealed(self) -> Result<Identity, toml::ser::Error> {
        let covered = Identity { checksum: None, file_system: None, ..self.clone() };
        Ok(Identity { checksum: Some(checksum(&covered)?), ..self })
    }

    /// As text, for a place that is no directory: without the file system, with a checksum.
    pub fn to_text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&Identity { file_system: None, ..self.clone() }.sealed()?)
    }

    /// From such a text, which was found at a place.
    pub fn from_text(text: &[u8], location: &Path, kind: Kind) -> Result<Identity, IdentityError> {
        parse(text, location, location, kind)
    }

    /// Of a new one that has not registered yet.
    pub fn new(kind: Kind, uuid: ClusterId) -> Identity {
        Identity {
            format: FORMAT,
            kind: kind.name().into(),
            cluster: ClusterId::UNKNOWN,
            uuid,
            target: TargetId(0),
            file_system: None,
            checksum: None,
        }
    }

    /// Whether it says what was written.
    fn is_whole(&self) -> bool {
        self.checksum.is_none() || self.clone().sealed().is_ok_and(|sealed| sealed.checksum == self.checksum)
    }
}

/// What is written beside the values of a file of keys: CRC-32C of their canonical text, eight hexadecimal digits.
pub fn checksum<T: Serialize>(values: &T) -> Result<String, toml::ser::Error> {
    Ok(format!("{:08x}", crc32c(toml::to_string(values)?.as_bytes())))
}

/// A directory that is ours and locked.
#[derive(Debug)]
pub struct OwnDir {
    /// Where.
    pub path: PathBuf,
    /// Who it is.
    pub identity: Identity,
    kind: Kind,
    _lock: File,
}

/// Why a directory is refused.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file system refuses.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// Another process uses it.
    #[error("{path} is in use by another process; stop that one first", path = .path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The file is not what we write.
    #[error("{path} is damaged or not ours ({reason}); restore it from a backup, or use another directory", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is another kind of directory.
    #[error("{path} is a directory of kind {found:?}, wanted is {wanted:?}", path = .path.display())]
    OtherKind {
        /// The directory.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// It was written by a newer version.
    #[error("{path} has format {format}, this build knows up to {FORMAT}; upgrade Nyala on this host", path = .path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// It holds something else.
    #[error("{path} is not empty and has no {file}; a new one needs an empty directory", path = .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        file: &'static str,
    },
    /// It belongs to another cluster.
    #[error("{path} belongs to cluster {found}, not to {ours}; check the configuration", path = .path.display())]
    OtherCluster {
        /// The directory.
        path: PathBuf,
        /// Its cluster.
        found: ClusterId,
        /// Ours.
        ours: ClusterId,
    },
    /// It has another target id than the configuration says.
    #[error("{path} is target {found}, the configuration says {wanted}; correct one of them", path = .path.display())]
    OtherTarget {
        /// The directory.
        path: PathBuf,
        /// Its id.
        found: TargetId,
        /// The configured id.
        wanted: TargetId,
    },
    /// It is on another file system than it was made on.
    #[error(
        "{path} was made on file system {found}, but is on {now} now; is the right disk mounted? If it was copied on \
         purpose, remove the line `file_system` from its target.toml", path = .path.display()
    )]
    OtherFileSystem {
        /// The directory.
        path: PathBuf,
        /// UUID it was made on.
        found: ClusterId,
        /// UUID it is on.
        now: ClusterId,
    },
}

/// Who a directory says it is, without locking or changing anything. `None`: it is missing, or nothing in it says so.
pub fn peek(path: &Path, kind: Kind) -> Result<Option<Identity>, IdentityError> {
    let file = path.join(kind.file());
    match std::fs::read(&file) {
        Ok(bytes) => parse(&bytes, path, &file, kind).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IdentityError::Io { path: file, error }),
    }
}

impl OwnDir {
    /// Locks a directory and reads who it is, or makes it ours if it is new. `new_uuid` is for a new one.
    pub fn open(path: &Path, kind: Kind, new_uuid: ClusterId) -> Result<OwnDir, IdentityError> {
        let io = |error| IdentityError::Io { path: path.into(), error };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(io)?;
        let known = peek(path, kind)?;
        if known.is_none() && !is_new(path, kind).map_err(io)? {
            return Err(IdentityError::NotEmpty { path: path.into(), file: kind.file() });
        }
        let lock = crate::lock::exclusive(&path.join("LOCK")).map_err(io)?;
        let lock = lock.ok_or_else(|| IdentityError::Locked { path: path.into() })?;
        // Only now: a directory that is not ours stays as it is.
        crate::private::tighten(path).map_err(io)?;
        let file_system = file_system_uuid(&lock);
        if let Some(identity) = known {
            if let (Some(found), Some(now)) = (identity.file_system, file_system)
                && found != now
            {
                return Err(IdentityError::OtherFileSystem { path: path.into(), found, now });
            }
            return Ok(OwnDir { path: path.into(), identity, kind, _lock: lock });
        }
        let file_system = file_system.filter(|_| kind != Kind::StorageNode);
        let identity = Identity { file_system, ..Identity::new(kind, new_uuid) };
        let mut dir = OwnDir { path: path.into(), identity, kind, _lock: lock };
        dir.save()?;
        Ok(dir)
    }

    /// Remembers what registration gave.
    pub fn registered(&mut self, cluster: ClusterId, target: TargetId) -> Result<(), IdentityError> {
        if (self.identity.cluster, self.identity.target) != (cluster, target) {
            (self.identity.cluster, self.identity.target) = (cluster, target);
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), IdentityError> {
        let path = self.path.join(self.kind.file());
        let unwritable = |e: toml::ser::Error| IdentityError::Unreadable { path: path.clone(), reason: e.to_string() };
        self.identity = self.identity.clone().sealed().map_err(unwritable)?;
        let text = toml::to_string(&self.identity).map_err(unwritable)?;
        let temporary = self.path.join(format!("{}.new", self.kind.file()));
        let write = || -> io::Result<()> {
            let mut file = crate::private::new_file().truncate(true).open(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| IdentityError::Io { path: path.clone(), error })
    }
}

pub(crate) fn parse(bytes: &[u8], dir: &Path, file: &Path, kind: Kind) -> Result<Identity, IdentityError> {
    /// What every format has.
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        kind: String,
    }
    let unreadable = |reason: &str| IdentityError::Unreadable { path: file.into(), reason: reason.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not text"))?;
    let head: Head = toml::from_str(text).map_err(|e| unreadable(e.message()))?;
    let identity = toml::from_str::<Identity>(text);
    // First of all: what a flipped bit says is no reason to look for another disk, or another build.
    if identity.as_ref().is_ok_and(|identity| !identity.is_whole()) {
        return Err(unreadable(
            "it is not what its checksum says; if it was changed on purpose, remove the line `checksum` from it",
        ));
    }
    if ![Kind::MetaTarget, Kind::StorageTarget, Kind::StorageNode].iter().any(|kind| kind.name() == head.kind) {
        return Err(unreadable(&format!("there is no kind {:?}", head.kind)));
    }
    if head.kind != kind.name() {
        return Err(IdentityError::OtherKind { path: dir.into(), found: head.kind, wanted: kind.name() });
    }
    if head.format > FORMAT {
        return Err(IdentityError::Newer { path: dir.into(), format: head.format });
    }
    identity.map_err(|e| unreadable(e.message()))
}

/// Is the directory empty, but for what an interrupted first start, or a fresh file system, leaves?
fn is_new(path: &Path, kind: Kind) -> io::Result<bool> {
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        let leftover = [format!("{}.new", kind.file()), "LOCK".into(), "lost+found".into()];
        if !leftover.iter().any(|known| name == known.as_str()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The file system's UUID (`FS_IOC_GETFSUUID`), all zero if it has none; `None` on kernels before Linux 6.9, which do
/// not tell.
fn file_system_uuid(file: &File) -> Option<ClusterId> {
    const FS_IOC_GETFSUUID: libc::c_ulong = 0x8011_1500;
    let mut answer = [0_u8; 17];
    // SAFETY: the request writes one length byte and at most 16 bytes, which is the size of `answer`.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_GETFSUUID, answer.as_mut_ptr()) };
    let [len, uuid @ ..] = answer;
    if result == 0 && len == 16 {
        return Some(ClusterId(uuid));
    }
    // The same error means "no UUID" and "no such request", so the version has to decide.
    kernel_version().is_some_and(|version| version >= (6, 9)).then_some(ClusterId::UNKNOWN)
}

fn kernel_version() -> Option<(u32, u32)> {
    let name = rustix::system::uname();
    let mut parts = name.release().to_str().ok()?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: ClusterId = ClusterId([9; 16]);

    #[test]
    fn made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut own = OwnDir::open(dir.path(), Kind::StorageTarget, UUID).unwrap();
        assert_eq!((own.identity.uuid, own.identity.target), (UUID, TargetId(0)));
        assert!(matches!(OwnDir::open(dir.path(), Kind::StorageTarget, UUID), Err(IdentityError::Locked { .. })));
        own.registered(ClusterId([7; 16]), TargetId(5)).unwrap();
        let identity = own.identity.clone();
        drop(own);
        assert_eq!(OwnDir::open(dir.path(), Kind::StorageTarget, ClusterId([1; 16])).unwrap().identity, identity);
        let other = OwnDir::open(dir.path(), Kind::StorageNode, UUID).unwrap_err();
        assert!(matches!(other, IdentityError::NotEmpty { .. }), "{other}");
    }

    #[test]
    fn any_flipped_bit_is_refused_or_says_the_same() {
        for kind in [Kind::MetaTarget, Kind::StorageTarget, Kind::StorageNode] {
            let dir = tempfile::tempdir().unwrap();
            let mut own = OwnDir::open(dir.path(), kind, UUID).unwrap();
            own.registered(ClusterId([7; 16]), TargetId(101)).unwrap();
            let good = peek(dir.path(), kind).unwrap().unwrap();
            assert!(good.checksum.is_some());
            let path = dir.path().join(kind.file());
            let bytes = std::fs::read(&path).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(&path, &flipped).unwrap();
                let text = String::from_utf8_lossy(&flipped);
                match peek(dir.path(), kind) {
                    Ok(Some(found)) => {
                        let same = Identity { file_system: good.file_system, checksum: good.checksum.clone(), ..found };
                        assert_eq!(same, good, "bit {bit}: {text}");
                    }
                    Ok(None) => panic!("bit {bit}: not found"),
                    Err(IdentityError::Unreadable { .. }) => {}
                    Err(other) => panic!("bit {bit}: {other}: {text}"),
                }
            }
        }
    }

    #[test]
    fn what_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        drop(OwnDir::open(dir.path(), Kind::StorageTarget, UUID).unwrap());
        let path = dir.path().join("target.toml");
        let good = std::fs::read_to_string(&path).unwrap();
        let attempt = |text: &str| {
            std::fs::write(&path, text).unwrap();
            OwnDir::open(dir.path(), Kind::StorageTarget, UUID).unwrap_err()
        };
        assert!(matches!(attempt(""), IdentityError::Unreadable { .. }));
        for cut in [10, good.len() / 2] {
            assert!(matches!(attempt(&good[..cut]), IdentityError::Unreadable { .. }), "cut at {cut}");
        }
        assert!(matches!(attempt(&format!("more = 1\n{good}")), IdentityError::Unreadable { .. }));
        let unsealed = |text: &str| {
            let kept = text.lines().filter(|line| !line.starts_with("checksum"));
            kept.map(|line| format!("{line}\n")).collect::<String>()
        };
        let newer = unsealed(&good).replace("format = 1", "format = 2");
        assert!(matches!(attempt(&newer), IdentityError::Newer { .. }));
        assert!(matches!(attempt(&format!("{newer}more = 1\n")), IdentityError::Newer { .. }));
        let meta = unsealed(&good).replace("\"storage\"", "\"meta\"");
        assert!(matches!(attempt(&meta), IdentityError::OtherKind { .. }));
        if good.contains("file_system") {
            let line = good.lines().find(|line| line.starts_with("file_system")).unwrap();
            let moved = good.replace(line, &format!("file_system = \"{}\"", "ab".repeat(16)));
            assert!(matches!(attempt(&moved), IdentityError::OtherFileSystem { .. }));
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(
            OwnDir::open(dir.path(), Kind::StorageTarget, UUID).unwrap_err(),
            IdentityError::NotEmpty { .. }
        ));
        assert!(!dir.path().join("target.toml").exists(), "nothing was written");
    }
}
