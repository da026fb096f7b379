// SPDX-License-Identifier: Apache-2.0

//! Rows, records and messages of the pure crates above `nyala-wire`.

use minicbor::{Decode, Encode};
use nyala_cluster::{ClusterState, Command};
use nyala_kv::Batch;
use nyala_replica::log::LogEnvelope;
use nyala_replica::rows::{decode_runs, encode_runs};
use nyala_replica::{Body, Envelope, RowKey, lists};
use nyala_wire::checksum::crc32c_parts;
use nyala_wire::codec;
use nyala_wire::fuzzing::round_trip;
use std::fmt::Debug;

/// A batch of changes, as a mirror gets it and the log holds it.
pub fn batch(bytes: &[u8]) -> bool {
    let Some(batch) = Batch::from_bytes(bytes.to_vec()) else { return false };
    assert_eq!((batch.as_bytes(), batch.iter().count()), (bytes, batch.len()));
    let mut again = Batch::new();
    for (key, value) in batch.iter() {
        match value {
            Some(value) => again.put(key, value),
            None => again.delete(key),
        };
    }
    assert!(again.refused().is_none(), "what may be read may be written");
    assert_eq!(again.as_bytes(), bytes);
    true
}

/// Keys and values of what a member of a mirror group remembers.
pub fn replica_rows(bytes: &[u8]) -> bool {
    let runs = decode_runs(bytes).is_ok_and(|runs| {
        assert_eq!(decode_runs(&encode_runs(&runs)).as_ref(), Ok(&runs));
        let list: Vec<_> = runs.iter().collect();
        assert!(list.iter().all(|run| run.start < run.end));
        assert!(list.windows(2).all(|two| two[0].end < two[1].start), "in order, and joined");
        assert!(list.iter().all(|run| runs.contains(*run)));
        true
    });
    let key = RowKey::decode(bytes).is_ok_and(|key| {
        assert_eq!(RowKey::decode(&key.encode()), Ok(key));
        true
    });
    runs | key
}

/// A message between members of a mirror group, of storage or of metadata.
pub fn replica_message(bytes: &[u8]) -> bool {
    let message = round_trip::<Envelope>(bytes);
    if let (true, Ok(Envelope { body: Body::Gathered { regions }, .. })) = (message, codec::decode(bytes)) {
        let most = 8;
        let set = lists::from_list(&regions, most);
        assert_eq!(lists::from_list(&lists::to_list(&set), most), set);
        assert!(set.files().all(|file| set.runs(file).is_some_and(|runs| (1..=most).contains(&runs.iter().count()))));
        let given = regions.iter().flat_map(|entry| entry.runs.iter().map(|run| (entry.file, run)));
        assert!(given.into_iter().all(|(file, run)| set.contains(file, run)), "nothing is lost");
        assert!(set.count() >= set.files().count() as u64);
    }
    message | round_trip::<LogEnvelope>(bytes)
}

/// The stored state of a cluster: as it is, and with magic, length and checksum that fit. Everybody's map is made of it.
pub fn cluster_state(bytes: &[u8]) -> bool {
    const HEAD: usize = 16;
    let mut mended = bytes.to_vec();
    if mended.len() >= HEAD {
        mended[..4].copy_from_slice(b"NYCS");
        let len = (mended.len() - HEAD) as u32;
        mended[8..12].copy_from_slice(&len.to_le_bytes());
        let crc = crc32c_parts(&[&mended[..12], &mended[HEAD..]]);
        mended[12..HEAD].copy_from_slice(&crc.to_le_bytes());
    }
    [bytes, &mended].iter().any(|bytes| {
        ClusterState::decode(bytes).is_ok_and(|state| {
            assert_eq!(ClusterState::decode(&state.encode()).as_ref(), Ok(&state));
            same(&state.map());
            true
        })
    })
}

fn same<T>(value: &T)
where
    T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug,
{
    assert_eq!(codec::decode::<T>(&codec::encode(value)).as_ref(), Ok(value));
}

/// A change of a cluster's state, as it stands in the Raft log.
pub fn cluster_command(bytes: &[u8]) -> bool {
    round_trip::<Command>(bytes)
}
