// SPDX-License-Identifier: Apache-2.0

//! A service whose target lies on a RAID 6 of six directories: drives die, lie and are replaced.

use crate::bulk;
use crate::common::{Cluster, Storage, client};
use bytes::Bytes;
use nyala_raid::Level;
use nyala_storage::{SetSpec, StorageConfig, StorageError, TargetSpec};
use nyala_transport::{Connection, Frame, Request, Role};
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::raid::{RaidOrder, RaidRequest, RaidState};
use nyala_wire::storage::{ChunkFileId, ReadReplyHeader, StorageOp, StorageRequest, decode_bulk, encode_bulk};
use nyala_wire::{ErrorCode, InodeId, SessionId, SplitMix64, TargetId, WireError, codec, message_type};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const TARGET: TargetId = TargetId(11);
const STRIP: usize = 16 << 10;

pub fn file(number: u64) -> ChunkFileId {
    ChunkFileId { inode: InodeId(5 << 48 | number), index: 2 }
}

pub fn content(number: u64, len: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(number);
    (0..len).map(|_| random.bits() as u8).collect()
}

fn drive(cluster: &Cluster, number: usize) -> PathBuf {
    cluster.dir.path().join(format!("d{number}"))
}

fn config(cluster: &Cluster, drives: &[usize]) -> StorageConfig {
    let drives: Vec<PathBuf> = drives.iter().map(|number| drive(cluster, *number)).collect();
    let dir = drives[0].clone();
    let set = SetSpec {
        drives: drives.into_iter().map(Into::into).collect(),
        level: Some(Level::Raid6),
        strip_bytes: Some(STRIP),
        ..SetSpec::default()
    };
    let mut config = cluster.config("a");
    config.targets = vec![TargetSpec { dir, set: Some(set), ..TargetSpec::default() }];
    config
}

fn result(frame: Frame) -> Result<Frame, WireError> {
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap()),
        false => Ok(frame),
    }
}

pub async fn write(to: &Connection, file: ChunkFileId, offset: u64, data: &[u8]) {
    let (header, crcs) = bulk::write_header(TARGET, file, offset, data);
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
    result(to.call(request.with_payload(vec![Bytes::copy_from_slice(data)])).await.unwrap()).unwrap();
}

/// The same where it may fail; none: there is no answer.
pub async fn write_result(
    to: &Connection,
    file: ChunkFileId,
    offset: u64,
    data: &[u8],
) -> Result<(), Option<WireError>> {
    let (header, crcs) = bulk::write_header(TARGET, file, offset, data);
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
    let frame = to.call(request.with_payload(vec![Bytes::copy_from_slice(data)])).await.map_err(|_| None)?;
    result(frame).map(drop).map_err(Some)
}

async fn read(from: &Connection, file: ChunkFileId, len: usize) -> Vec<u8> {
    let header = bulk::read_header(TARGET, file, 0, len as u32, 0);
    let frame = from.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap();
    let frame = result(frame).unwrap();
    let (_, crcs) = decode_bulk::<ReadReplyHeader>(&frame.body).unwrap();
    frame.payload.chunks(4096).zip(crcs).for_each(|(block, crc)| assert_eq!(crc32c_zero_padded(block), crc.get()));
    frame.payload.to_vec()
}

pub async fn sync(to: &Connection, file: ChunkFileId) {
    let request = StorageRequest::new(TARGET, file, StorageOp::Sync).of_session(SessionId(1));
    result(to.call(Request::new(message_type::STORAGE, codec::encode(&request))).await.unwrap()).unwrap();
}

pub async fn raid(to: &Connection, order: RaidOrder) -> Result<RaidState, WireError> {
    raid_of(to, TARGET, order).await
}

/// The same of another target.
pub async fn raid_of(to: &Connection, target: TargetId, order: RaidOrder) -> Result<RaidState, WireError> {
    let body = codec::encode(&RaidRequest { target, order });
    Ok(codec::decode(&result(to.call(Request::new(message_type::STORAGE_RAID, body)).await.unwrap())?.body).unwrap())
}

/// Asks until it is so.
pub async fn wait(to: &Connection, what: &str, is: impl Fn(&RaidState) -> bool) -> RaidState {
    let began = Instant::now();
    loop {
        let state = raid(to, RaidOrder::Show).await.unwrap();
        if is(&state) {
            return state;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: {state:?}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until a sample of the page of metrics is at least so much.
async fn await_figure(from: &Connection, sample: &str, least: u64) {
    let began = Instant::now();
    loop {
        let page = result(from.call(Request::new(message_type::METRICS, Bytes::new())).await.unwrap()).unwrap();
        let text = String::from_utf8_lossy(&page.payload).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix(sample)).map(str::trim);
        let value = line.unwrap_or_else(|| panic!("no {sample} in {text}")).parse::<u64>();
        if value.is_ok_and(|value| value >= least) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{sample}: {text}");
        // sleeps: a page is made five times a second at most
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

async fn operator(cluster: &Cluster, storage: &Storage) -> Connection {
    let to = cluster.connect_as(storage, Role::Cli).await;
    raid(&to, RaidOrder::Rate { bytes_per_s: Some(0) }).await.unwrap();
    to
}

/// Flips a byte in the middle of the largest file under a directory.
fn flip(drive: &Path) {
    let mut files = Vec::new();
    for dir in std::fs::read_dir(drive.join("objects")).unwrap() {
        files.extend(std::fs::read_dir(dir.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
    }
    // Chunk files, not those of the target's own tables, whose numbers have a bit set far up.
    files.retain(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("00")));
    let largest = files.into_iter().max_by_key(|file| std::fs::metadata(file).unwrap().len()).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(largest).unwrap();
    let (mut byte, at) = ([0], file.metadata().unwrap().len() / 2);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x20], at).unwrap();
}

pub const FILES: u64 = 8;

pub fn len(number: u64) -> usize {
    10_000 + number as usize * 70_001
}

pub async fn check_all(from: &Connection, when: &str) {
    for number in 0..FILES {
        assert!(read(from, file(number), len(number)).await == content(number, len(number)), "{when}: file {number}");
    }
}

pub fn empty(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
    std::fs::create_dir(dir).unwrap();
}

#[test]
fn drives_die_and_lie_and_are_replaced_while_files_stay_right() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let storage = cluster.storage(config(&cluster, &[0, 1, 2, 3, 4, 5]));
    client(async {
        let to = cluster.connect(&storage).await;
        for number in 0..FILES {
            write(&to, file(number), 0, &content(number, len(number))).await;
            sync(&to, file(number)).await;
        }
        check_all(&to, "written").await;
        let cli = operator(&cluster, &storage).await;
        let state = raid(&cli, RaidOrder::Show).await.unwrap();
        assert_eq!((state.level.as_str(), state.strip_bytes, state.parity), ("6", STRIP as u64, 2));
        assert!(state.members.iter().all(|member| member.state == "good"), "{state:?}");
        // One goes away under the running service.
        empty(&drive(&cluster, 1));
        wait(&cli, "a drive is gone", |state| state.members[1].state == "missing").await;
        for (state, least) in [("missing", 1), ("good", 5), ("rebuilding", 0)] {
            let sample = format!("nyala_storage_set_members{{target=\"11\",state=\"{state}\"}}");
            await_figure(&cli, &sample, least).await;
        }
        await_figure(&cli, "nyala_storage_set_stopped{target=\"11\"}", 0).await;
        check_all(&to, "without a drive").await;
        write(&to, file(0), 100, &content(77, 5000)).await;
        write(&to, file(0), 100, &content(0, 6000)[100..5100]).await;
        check_all(&to, "written without a drive").await;
        let used = drive(&cluster, 2).display().to_string();
        let refused = raid(&cli, RaidOrder::Replace { member: 1, drive: used }).await.unwrap_err();
        assert!(refused.message.contains("not empty"), "{refused:?}");
        let new = drive(&cluster, 1).display().to_string();
        raid(&cli, RaidOrder::Replace { member: 1, drive: new }).await.unwrap();
        let state = wait(&cli, "rebuilt", |state| state.members.iter().all(|member| member.state == "good")).await;
        assert!(state.rebuilt_bytes > 0 && !state.rebuilding, "{state:?}");
    });
    storage.stop().unwrap();
    // One is empty at the next start, as a disk that is not mounted, and another one lies.
    empty(&drive(&cluster, 4));
    flip(&drive(&cluster, 0));
    let storage = cluster.storage(config(&cluster, &[0, 1, 2, 3, 4, 5]));
    client(async {
        let to = cluster.connect(&storage).await;
        check_all(&to, "with a flipped byte and without a drive").await;
        let cli = operator(&cluster, &storage).await;
        let state = raid(&cli, RaidOrder::Show).await.unwrap();
        assert_eq!((state.members[4].state.as_str(), &state.members[4].drive), ("missing", &None));
        raid(&cli, RaidOrder::Replace { member: 4, drive: drive(&cluster, 6).display().to_string() })
            .await
            .expect_err("it is not there");
        std::fs::create_dir(drive(&cluster, 6)).unwrap();
        let new = drive(&cluster, 6).display().to_string();
        raid(&cli, RaidOrder::Replace { member: 4, drive: new.clone() }).await.unwrap();
        let state = wait(&cli, "rebuilt", |state| state.members.iter().all(|member| member.state == "good")).await;
        assert_eq!(state.members[4].drive, Some(new));
        for (round, least) in [(1, 0), (2, 0)] {
            raid(&cli, RaidOrder::Check).await.unwrap();
            let state = wait(&cli, "checked", |state| !state.scrub.running).await;
            assert!(state.scrub.stripes > 10 && state.scrub.lost == 0 && state.scrub.healed >= least, "{state:?}");
            assert!(round == 1 || state.scrub.healed == 0, "a second check finds nothing: {state:?}");
        }
        let healed = raid(&cli, RaidOrder::Show).await.unwrap();
        assert!(healed.healed > 0 && healed.members[0].errors > 0, "{healed:?}");
        for (sample, least) in [
            ("nyala_storage_set_drive_errors_total{target=\"11\",member=\"0\"}", healed.members[0].errors),
            ("nyala_storage_set_healed_total{target=\"11\"}", healed.healed),
            ("nyala_storage_set_rebuilt_bytes_total{target=\"11\"}", 1),
            ("nyala_storage_set_missed_stripes{target=\"11\",member=\"5\"}", 0),
        ] {
            await_figure(&cli, sample, least).await;
        }
        check_all(&to, "healed").await;
        let refused = raid(&to, RaidOrder::Show).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UNAUTHORIZED);
    });
    storage.stop().unwrap();
    // The settings follow, and the two that never failed are not needed.
    empty(&drive(&cluster, 2));
    empty(&drive(&cluster, 3));
    let storage = cluster.storage(config(&cluster, &[0, 1, 2, 3, 6, 5]));
    client(async { check_all(&cluster.connect(&storage).await, "on new drives").await });
    storage.stop().unwrap();
}

#[test]
fn a_set_is_made_once_and_never_again() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let four = config(&cluster, &[0, 1, 2, 3]);
    cluster.storage(four.clone()).stop().unwrap();
    let mut other = four.clone();
    other.targets[0].set.as_mut().unwrap().level = Some(Level::Raid5);
    // Nothing stops it: whoever is told to stop at once may do so before it has looked at its drives.
    let run = |config| {
        let ended = async {
            let run = nyala_storage::run(config, std::future::pending());
            tokio::time::timeout(Duration::from_secs(30), run).await.expect("it does not start")
        };
        client(ended).unwrap_err()
    };
    assert!(matches!(run(other), StorageError::OtherSet { .. }));
    (0..4).for_each(|number| empty(&drive(&cluster, number)));
    let gone = run(four);
    assert!(matches!(gone, StorageError::NoTargetThere { .. }), "{gone}");
    assert!(std::fs::read_dir(drive(&cluster, 0)).unwrap().next().is_none(), "nothing was made there");
}
