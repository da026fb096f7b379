// SPDX-License-Identifier: Apache-2.0

//! Whole runs of tiny sizes, and the two sides against an opposite that cheats.

use super::files::{Directory, Store};
use super::load::{Driven, Terms, drive};
use super::message::{HEAD_BYTES, Location};
use super::service::serve;
use super::*;
use crate::report::Backend;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

const SIZES: Sizes =
    Sizes { connections: 2, depth: 8, files: 5, file_bytes: 256 << 10, block: 128 << 10, random: 301, seed: 3 };

fn options(work: &Path) -> Options {
    let (work, ended) = (work.to_owned(), Ended::default());
    Options { work, sizes: SIZES, limit: None, rounds: 2, cold: false, verify: true, ended }
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

fn terms<'a>(fill: &'a Fill, stop: &'a Stop) -> Terms<'a> {
    Terms { fill, until: None, stop, verify: true }
}

#[test]
fn a_run_moves_everything_checks_it_and_leaves_nothing() {
    let work = tempfile::tempdir().unwrap();
    let options = options(work.path());
    let report = run(&options, &Stop::default()).unwrap();
    assert_eq!(options.ended.count(), options.phases());
    let moved: Vec<_> = report.rows.iter().map(|row| (row.step, row.ops, row.bytes)).collect();
    let all = 5 * (256 << 10);
    let random = 301 * 4096;
    let expected = [
        (Step::Write, 10, all),
        (Step::Read, 10, all),
        (Step::RandomRead, 301, random),
        (Step::RandomWrite, 301, random),
    ];
    assert_eq!(moved, expected);
    for row in &report.rows {
        assert!(row.backend == Backend::Floor && row.seconds > 0.0, "{row:?}");
        assert!(row.cpu.storage_us.is_some_and(|us| us > 0) && row.cpu.client_us.is_some_and(|us| us > 0), "{row:?}");
    }
    assert_eq!((report.rounds, report.interrupted), (2, false));
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0, "the directory is removed");
}

#[test]
fn a_run_that_is_to_stop_stops_and_one_without_room_says_where() {
    let work = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    stop.ask();
    let report = run(&options(work.path()), &stop).unwrap();
    assert!(report.interrupted && report.rows.is_empty());
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
    let missing = work.path().join("missing");
    let error = run(&options(&missing), &Stop::default()).unwrap_err().to_string();
    assert!(error.contains("missing/nyala-floor"), "{error}");
    let none = Options { sizes: Sizes { files: 0, ..SIZES }, ..options(work.path()) };
    assert!(run(&none, &Stop::default()).unwrap_err().to_string().contains("at least one"));
}

#[test]
fn a_time_limit_ends_a_phase_and_later_ones_use_what_was_written() {
    let work = tempfile::tempdir().unwrap();
    let report = run(&Options { limit: Some(Duration::ZERO), ..options(work.path()) }, &Stop::default()).unwrap();
    assert!(report.rows.is_empty() && !report.interrupted, "nothing was moved: {report:?}");
}

/// Files of the first connection, as the write phase leaves them, and what is in them.
fn written(directory: &Directory, fill: &Fill) -> Store {
    let mut store = Store::make(directory, 0, SIZES.files_of(0), SIZES.file_bytes).unwrap();
    let share = SIZES.share(0, Step::Write, None);
    let (client, server) = pair();
    let stop = Stop::default();
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(server, &mut store, &share));
        let driven = drive(client, &share, &terms(fill, &stop)).unwrap();
        assert_eq!(driven.ops, 6);
        serving.join().unwrap().unwrap();
    });
    store
}

#[test]
fn files_hold_what_was_sent_and_a_flipped_byte_is_found() {
    let work = tempfile::tempdir().unwrap();
    let (directory, fill, stop) = (Directory::make(work.path()).unwrap(), Fill::new(3, SIZES.block), Stop::default());
    let mut store = written(&directory, &fill);
    let inside = std::fs::read_dir(work.path()).unwrap().next().unwrap().unwrap().path();
    let share = SIZES.share(0, Step::Read, None);
    for file in 0..3 {
        let content = std::fs::read(inside.join(format!("0.{file}"))).unwrap();
        assert_eq!(content.len(), 256 << 10);
        for (n, block) in content.chunks(128 << 10).enumerate() {
            assert_eq!(fill.first_difference(share.key(file), (n * (128 << 10)) as u64, block), None, "file {file}");
        }
    }
    let mut content = std::fs::read(inside.join("0.2")).unwrap();
    content[200_000] ^= 0x10;
    std::fs::write(inside.join("0.2"), content).unwrap();
    let (client, server) = pair();
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(server, &mut store, &share));
        let driven: Result<Driven, FloorError> = drive(client, &share, &terms(&fill, &stop));
        assert!(driven.unwrap_err().is_aftermath(), "the client only sees the end");
        let error = serving.join().unwrap().unwrap_err();
        assert!(matches!(&error, FloorError::DamagedInFile { offset: 196_608, .. }), "{error}");
    });
}

/// A man in the middle: passes on what comes in both directions, with the byte at a place changed on the way to the client, or to the
/// storage side.
fn flip(mut from: TcpStream, mut to: TcpStream, at: usize) {
    let (mut piece, mut passed) = (vec![0; 10_000], 0);
    while let Ok(got) = from.read(&mut piece) {
        if let Some(byte) = at.checked_sub(passed).filter(|within| *within < got) {
            piece[byte] ^= 1;
        }
        passed += got;
        if got == 0 || to.write_all(&piece[..got]).is_err() {
            break;
        }
    }
    // why ignored: an end that is gone needs no telling.
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}

/// What both sides say when a byte is changed between them.
fn tampered(
    store: &mut Store,
    fill: &Fill,
    step: Step,
    to_storage: usize,
    to_client: usize,
) -> (Result<u64, FloorError>, Result<Driven, FloorError>) {
    let share = SIZES.share(0, step, Some(6));
    let ((client, near), (far, server), stop) = (pair(), pair(), Stop::default());
    thread::scope(|scope| {
        let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        scope.spawn(move || flip(near, far, to_storage));
        scope.spawn(move || flip(far_too, near_too, to_client));
        let serving = scope.spawn(|| serve(server, store, &share));
        let driven = drive(client, &share, &terms(fill, &stop));
        (serving.join().unwrap(), driven)
    })
}

#[test]
fn a_byte_that_changes_on_the_way_is_an_error_on_the_side_that_gets_it() {
    const NEVER: usize = usize::MAX;
    let work = tempfile::tempdir().unwrap();
    let (directory, fill) = (Directory::make(work.path()).unwrap(), Fill::new(3, SIZES.block));
    let mut store = written(&directory, &fill);
    let head = SIZES.share(0, Step::Write, None).full_head();
    let (served, driven) = tampered(&mut store, &fill, Step::Write, head + 5000, NEVER);
    assert!(matches!(served, Err(FloorError::DamagedOnTheWay { file: 0, offset: 4096 })), "{served:?}");
    assert!(driven.unwrap_err().is_aftermath());
    let (_, driven) = tampered(&mut store, &fill, Step::Read, NEVER, head + 5000);
    assert!(matches!(driven, Err(FloorError::DamagedOnTheWay { file: 0, offset: 4096 })), "{driven:?}");
    // The place in the head of a request, and of an answer.
    let (served, _) = tampered(&mut store, &fill, Step::RandomRead, 4, NEVER);
    assert!(matches!(served, Err(FloorError::Unexpected { .. })), "{served:?}");
    let (_, driven) = tampered(&mut store, &fill, Step::RandomWrite, NEVER, 8);
    assert!(matches!(driven, Err(FloorError::Unexpected { .. })), "{driven:?}");
    let (served, driven) = tampered(&mut store, &fill, Step::RandomRead, NEVER, NEVER);
    assert_eq!((served.is_ok(), driven.unwrap().ops), (true, 151), "untouched, all of it passes");
}

#[test]
fn a_connection_that_ends_early_is_no_result_and_its_sockets_are_closed() {
    let (fill, stop) = (Fill::new(3, SIZES.block), Stop::default());
    let share = SIZES.share(0, Step::RandomRead, Some(6));
    let (client, mut server) = pair();
    thread::scope(|scope| {
        let driving = scope.spawn(|| drive(client, &share, &terms(&fill, &stop)));
        let mut head = [0; HEAD_BYTES];
        server.read_exact(&mut head).unwrap();
        assert_eq!(Location::decode(&head), share.location(0));
        server.shutdown(std::net::Shutdown::Write).unwrap();
        let error = driving.join().unwrap().unwrap_err();
        assert!(matches!(error, FloorError::Closed), "{error}");
        // The other requests of the window, and then the end: the client's socket is closed.
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), (share.window() - 1) * HEAD_BYTES);
    });
}
