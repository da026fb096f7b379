// SPDX-License-Identifier: Apache-2.0

//! What older builds used for the checkpoint store: LMDB, with two named tables, `data` and `meta`. It is only read, to
//! make a tree of it.
//!
//! # Failure model
//! Values (together with their keys) and the meta entry carry a checksum of ours, and a mismatch is an error. LMDB's own
//! pages carry none: damage there may hide rows or show others.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, WithoutTls};
use nyala_wire::checksum::crc32c;

use crate::StoreError;
use crate::error::is_out_of_space;
use crate::ordered::CheckpointMeta;
#[cfg(test)]
use nyala_kv::Change;
use nyala_kv::Visit;

const META_KEY: &[u8] = b"checkpoint";
const META_MAGIC: [u8; 8] = *b"NYALACKP";
const META_VERSION: u16 = 1;
const META_BYTES: usize = 64;
const CRC_BYTES: usize = 4;
/// Address space for the map; the file is only as large as its content.
const MAP_BYTES: usize = 1 << 40;
const FILES: [&str; 2] = ["data.mdb", "lock.mdb"];
/// Concurrent readers; one per thread that is inside `get` or `scan`.
const MAX_READERS: u32 = 1024;

/// Whether there is an environment in `dir`.
pub(crate) fn is_in(dir: &Path) -> bool {
    FILES.iter().any(|name| dir.join(name).exists())
}

/// Removes the environment in `dir`, if it is there.
pub(crate) fn remove(dir: &Path) -> std::io::Result<()> {
    for name in FILES {
        match std::fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

type Table = Database<'static, Bytes, Bytes>;

/// An open LMDB environment. Fields drop in this order; the environment closes with the last.
pub(crate) struct Lmdb {
    data: Table,
    meta: Table,
    location: String,
    env: Env<WithoutTls>,
}

impl Lmdb {
    /// Opens the environment in `dir`.
    pub(crate) fn open(dir: &Path) -> Result<Lmdb, StoreError> {
        let location = dir.display().to_string();
        crate::private::make_dir(dir).map_err(|e| StoreError::io("create", &location, e))?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(MAP_BYTES).max_dbs(2).max_readers(MAX_READERS);
        // SAFETY: NO_READ_AHEAD changes no guarantee. The directory is ours alone: the caller holds its LOCK file, so
        // nobody else maps or changes the files; it is not on a remote file system by the operator's contract.
        let env = unsafe { options.flags(EnvFlags::NO_READ_AHEAD).open(dir) }.map_err(|e| error(&location, e))?;
        let transaction = env.write_txn().map_err(|e| error(&location, e))?;
        let tables = env
            .create_databases_and_commit(transaction, |opener, transaction| {
                let data = opener.create_database::<Bytes, Bytes>(transaction, Some("data"))?;
                let meta = opener.create_database::<Bytes, Bytes>(transaction, Some("meta"))?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit([data, meta]))
            })
            .map_err(|e| error(&location, e))?;
        let Some([data, meta]) = tables.commit() else {
            return Err(StoreError::Ordered { store: location, reason: "the tables could not be made".into() });
        };
        Ok(Lmdb { data, meta, location, env })
    }

    fn fail(&self, cause: heed::Error) -> StoreError {
        error(&self.location, cause)
    }

    fn verified<'a>(&self, key: &[u8], stored: &'a [u8]) -> Result<&'a [u8], StoreError> {
        match stored.split_first_chunk::<CRC_BYTES>() {
            Some((crc, value)) if u32::from_le_bytes(*crc) == value_crc(key, value) => Ok(value),
            _ => {
                let key = key.iter().map(|byte| format!("{byte:02x}")).collect();
                Err(StoreError::Corrupt { store: self.location.clone(), key })
            }
        }
    }
}

fn error(location: &str, cause: heed::Error) -> StoreError {
    let (store, reason) = (location.to_owned(), cause.to_string());
    match cause {
        heed::Error::Mdb(MdbError::MapFull) => StoreError::OrderedFull { store, reason },
        heed::Error::Io(cause) if is_out_of_space(&cause) => StoreError::OrderedFull { store, reason },
        heed::Error::EnvAlreadyOpened => StoreError::Locked { path: location.into() },
        _ => StoreError::Ordered { store, reason },
    }
}

/// Covers the key as well, so that a value under the wrong key is seen.
fn value_crc(key: &[u8], value: &[u8]) -> u32 {
    crc32c(value) ^ crc32c(key).rotate_left(13)
}

impl Lmdb {
    /// What the last commit left; `None` if there was none.
    pub(crate) fn meta(&self) -> Result<Option<CheckpointMeta>, StoreError> {
        let transaction = self.env.read_txn().map_err(|e| self.fail(e))?;
        let stored = self.meta.get(&transaction, META_KEY).map_err(|e| self.fail(e))?;
        stored
            .map(|bytes| {
                decode_meta(bytes).map_err(|reason| StoreError::Ordered { store: self.location.clone(), reason })
            })
            .transpose()
    }

    /// Rows that LMDB counts.
    pub(crate) fn rows(&self) -> Result<u64, StoreError> {
        let transaction = self.env.read_txn().map_err(|e| self.fail(e))?;
        self.data.len(&transaction).map_err(|e| self.fail(e))
    }

    /// Visits the rows in the range in order, until `visit` breaks.
    pub(crate) fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let transaction = self.env.read_txn().map_err(|e| self.fail(e))?;
        let range = self.data.range(&transaction, &(from, to)).map_err(|e| self.fail(e))?;
        for entry in range {
            let (key, stored) = entry.map_err(|e| self.fail(e))?;
            if visit(key, self.verified(key, stored)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// As older builds did it.
    #[cfg(test)]
    pub(crate) fn commit(
        &self,
        changes: &mut dyn Iterator<Item = Change<'_>>,
        meta: CheckpointMeta,
    ) -> Result<(), StoreError> {
        let mut transaction = self.env.write_txn().map_err(|e| self.fail(e))?;
        let mut stored = Vec::new();
        for (key, value) in changes {
            match value {
                Some(value) => {
                    stored.clear();
                    stored.extend_from_slice(&value_crc(key, value).to_le_bytes());
                    stored.extend_from_slice(value);
                    self.data.put(&mut transaction, key, &stored).map_err(|e| self.fail(e))?;
                }
                None => {
                    self.data.delete(&mut transaction, key).map_err(|e| self.fail(e))?;
                }
            }
        }
        self.meta.put(&mut transaction, META_KEY, &encode_meta(meta)).map_err(|e| self.fail(e))?;
        transaction.commit().map_err(|e| self.fail(e))
    }
}

/// magic 8 | version 2 | zero 6 | store id 16 | lsn 8 | sequence 8 | offset 8 | zero 4 | crc 4
#[cfg(test)]
fn encode_meta(meta: CheckpointMeta) -> Vec<u8> {
    let mut out = Vec::with_capacity(META_BYTES);
    out.extend_from_slice(&META_MAGIC);
    out.extend_from_slice(&META_VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&meta.store_id.to_le_bytes());
    for field in [meta.lsn, meta.sequence, meta.offset] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    let crc = crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

fn decode_meta(bytes: &[u8]) -> Result<CheckpointMeta, String> {
    let Ok(bytes) = <&[u8; META_BYTES]>::try_from(bytes) else {
        return Err(format!("the checkpoint entry has {} bytes, not {META_BYTES}", bytes.len()));
    };
    if bytes[..8] != META_MAGIC {
        return Err("not a Nyala checkpoint (bad magic)".into());
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != META_VERSION {
        return Err(format!("checkpoint format version {version}; this program reads version {META_VERSION}"));
    }
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    if word(56) >> 32 != u64::from(crc32c(&bytes[..META_BYTES - 4])) {
        return Err("bad checksum of the checkpoint entry".into());
    }
    let store_id = u128::from(word(16)) | u128::from(word(24)) << 64;
    Ok(CheckpointMeta { store_id, lsn: word(32), sequence: word(40), offset: word(48) })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    const META: CheckpointMeta = CheckpointMeta { store_id: 1 << 100 | 5, lsn: 7, sequence: 2, offset: 4096 };

    #[test]
    fn meta_round_trip_and_every_flip_is_seen() {
        let good = encode_meta(META);
        assert_eq!(decode_meta(&good), Ok(META));
        for position in 0..good.len() {
            let mut bad = good.clone();
            bad[position] ^= 4;
            assert!(decode_meta(&bad).is_err(), "flip at {position}");
        }
        assert!(decode_meta(&good[1..]).is_err());
    }

    #[test]
    fn damaged_values_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let lmdb = Lmdb::open(dir.path()).unwrap();
        let changes: [Change<'_>; 2] = [(b"a", Some(b"1")), (b"b", Some(b""))];
        lmdb.commit(&mut changes.into_iter(), META).unwrap();
        assert_eq!((lmdb.meta().unwrap(), lmdb.rows().unwrap()), (Some(META), 2));

        // The right value of another key is as wrong as any other damage.
        let mut transaction = lmdb.env.write_txn().unwrap();
        let of_a = lmdb.data.get(&transaction, b"a").unwrap().unwrap().to_vec();
        lmdb.data.put(&mut transaction, b"b", &of_a).unwrap();
        transaction.commit().unwrap();
        let mut visited = 0;
        let result = lmdb.scan(Bound::Unbounded, Bound::Unbounded, &mut |_, _| {
            visited += 1;
            ControlFlow::Continue(())
        });
        assert!(matches!(result, Err(StoreError::Corrupt { key, .. }) if key == "62") && visited == 1);
    }
}
