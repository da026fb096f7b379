// SPDX-License-Identifier: Apache-2.0

//! Sets of drives of drive services: services die, connections break, another service takes the set over.

use nyala_drives::{Drive, DriveSet, SetError, create};
use nyala_netdrives::{DriveLocation, DriveServer, ExportSpec, GIVE_UP, NetError, Network, REPLY_WITHIN};
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::{DriveId, MemberState, SetId};
use nyala_raid::{Geometry, Level, ObjectId};
use nyala_transport::{Secret, ShutdownHandle};
use nyala_wire::SplitMix64;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const STRIP: usize = 16384;
const OBJECT: ObjectId = ObjectId(7);
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

fn secret() -> Secret {
    Secret::from_bytes(&[b's'; 32]).unwrap()
}

fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

/// A drive service with one drive, `d`.
struct Host {
    dir: PathBuf,
    address: SocketAddr,
    running: Option<(ShutdownHandle, JoinHandle<()>)>,
}

impl Host {
    fn start(&mut self) {
        let export = ExportSpec { name: "d".into(), dir: self.dir.clone() };
        let server = DriveServer::bind(self.address, secret(), false, vec![export]).unwrap();
        self.address = server.address().unwrap();
        let stop = server.shutdown_handle();
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            tokio::task::LocalSet::new().block_on(&runtime, server.serve()).unwrap();
        };
        self.running = Some((stop, std::thread::spawn(serve)));
    }

    fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.stop();
            thread.join().unwrap();
        }
    }

    fn location(&self) -> DriveLocation {
        DriveLocation::Net { service: self.address.to_string(), name: "d".into() }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Site {
    _dir: tempfile::TempDir,
    hosts: Vec<Host>,
}

fn site(count: usize) -> Site {
    let dir = tempfile::tempdir().unwrap();
    let host = |at: usize| {
        let dir = dir.path().join(format!("host{at}"));
        std::fs::create_dir(&dir).unwrap();
        let mut host = Host { dir, address: ([127, 0, 0, 1], 0).into(), running: None };
        host.start();
        host
    };
    let hosts = (0..count).map(host).collect();
    Site { _dir: dir, hosts }
}

fn locations(site: &Site) -> Vec<DriveLocation> {
    site.hosts.iter().map(Host::location).collect()
}

fn open_at(locations: &[DriveLocation], timeout: Duration) -> Result<(Network, DriveSet), SetError> {
    let mut network = Network::new(secret(), false).unwrap();
    let drives: Vec<Drive> = network.open(locations, timeout).unwrap().into_iter().flatten().collect();
    let set = DriveSet::open(drives, false, ErrorLimit::default(), true)?;
    Ok((network, set))
}

/// A new set over all hosts.
fn made(site: &Site, level: Level) -> (Network, DriveSet) {
    let locations = locations(site);
    let mut network = Network::new(secret(), false).unwrap();
    network.make(&locations).unwrap();
    let drives: Vec<Drive> = network.open(&locations, OPEN_TIMEOUT).unwrap().into_iter().map(Result::unwrap).collect();
    let ids: Vec<DriveId> = (0..drives.len()).map(|at| DriveId(at as u128 + 1)).collect();
    create(&drives, Geometry::new(level, drives.len(), STRIP).unwrap(), SetId(5), &ids).unwrap();
    let set = DriveSet::open(drives, false, ErrorLimit::default(), true).unwrap();
    (network, set)
}

fn rebuild(set: &DriveSet) {
    while !set.rebuild_some(16).unwrap().done {}
}

#[test]
fn a_host_dies_and_comes_back_while_the_set_is_in_use() {
    let mut site = site(4);
    let (network, set) = made(&site, Level::Raid5);
    let len = 3 * STRIP * 6;
    set.write(OBJECT, 0, &content(1, len)).unwrap();
    set.sync().unwrap();
    let mut right = content(1, len);
    site.hosts[2].stop();
    set.write(OBJECT, 5000, &content(2, 60_000)).unwrap();
    right[5000..65_000].copy_from_slice(&content(2, 60_000));
    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right);
    assert_eq!(set.superblock().members[2].state, MemberState::Missing);
    assert!(network.attach(&site.hosts[2].location()).is_err());
    site.hosts[2].start();
    assert_eq!(set.returned(network.attach(&site.hosts[2].location()).unwrap()).unwrap(), 2);
    rebuild(&set);
    assert_eq!(set.superblock().members[2].state, MemberState::Good);
    assert!(set.space().is_some_and(|(total, free)| total > free && free > 0));
    // Now another one may go, and the set be opened without it.
    site.hosts[0].stop();
    set.write(OBJECT, 0, &content(3, 100)).unwrap();
    right[..100].copy_from_slice(&content(3, 100));
    drop(set);
    let (_network, set) = open_at(&locations(&site), Duration::from_millis(300)).unwrap();
    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right);
    assert_eq!(set.superblock().members[0].state, MemberState::Missing);
}

#[test]
fn a_host_that_was_given_up_is_let_go_although_it_answers_again() {
    let mut site = site(4);
    let (network, set) = made(&site, Level::Raid5);
    set.write(OBJECT, 0, &content(1, 200_000)).unwrap();
    site.hosts[1].stop();
    let began = std::time::Instant::now();
    set.write(OBJECT, 0, &content(2, 200_000)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}: nobody listens there", began.elapsed());
    set.set_owner(b"who").unwrap();
    site.hosts[1].start();
    assert_eq!(set.check_presence().unwrap(), [1], "it may have missed something");
    assert!(!set.members()[1].is_held);
    assert_eq!(set.returned(network.attach(&site.hosts[1].location()).unwrap()).unwrap(), 1);
    rebuild(&set);
    assert_eq!(set.owners().unwrap(), [b"who".to_vec(), vec![]], "the one that was away has never heard of it");
    set.set_owner(b"who").unwrap();
    assert_eq!(set.owners().unwrap(), [b"who".to_vec()]);
    let look = network.look(&locations(&site), Duration::ZERO).unwrap();
    assert!(look.iter().flatten().all(|look| look.target == b"who" && !look.superblock.is_empty() && !look.empty));
    assert!(set.superblock().members.iter().all(|member| member.state == MemberState::Good));
    assert!(set.read(OBJECT, 0..200_000).unwrap() == content(2, 200_000));
}

#[test]
fn too_many_hosts_away_stop_the_set_for_readers_too() {
    let mut site = site(4);
    let (_network, set) = made(&site, Level::Raid5);
    set.write(OBJECT, 0, &content(1, 200_000)).unwrap();
    set.sync().unwrap();
    site.hosts[0].stop();
    site.hosts[2].stop();
    assert!(matches!(set.read(OBJECT, 0..200_000), Err(SetError::Stopped { .. })));
    assert!(matches!(set.stopped(), Some(SetError::Stopped { .. })));
    drop(set);
    site.hosts[0].start();
    site.hosts[2].start();
    let (_network, set) = open_at(&locations(&site), OPEN_TIMEOUT).unwrap();
    assert!(set.read(OBJECT, 0..200_000).unwrap() == content(1, 200_000));
    assert!(
        set.superblock().members.iter().all(|member| member.state == MemberState::Good),
        "nothing was written without them"
    );
}

#[test]
fn whoever_takes_the_set_over_has_everything_and_the_other_stops() {
    let site = site(3);
    let (_first, old) = made(&site, Level::Raid5);
    let len = 2 * STRIP * 4;
    old.write(OBJECT, 0, &content(1, len)).unwrap();
    old.sync().unwrap();
    old.write(OBJECT, 777, &content(2, 9000)).unwrap();
    let mut right = content(1, len);
    right[777..9777].copy_from_slice(&content(2, 9000));
    let (_second, new) = open_at(&locations(&site), OPEN_TIMEOUT).unwrap();
    assert!(new.read(OBJECT, 0..len as u64).unwrap() == right, "what was acknowledged is there");
    assert!(matches!(old.write(OBJECT, 0, &[1; 100]), Err(SetError::Taken)));
    assert!(matches!(old.read(OBJECT, 0..1), Err(SetError::Taken)), "what it would read may be old");
    assert!(matches!(old.sync(), Err(SetError::Taken)));
    assert!(new.superblock().members.iter().all(|member| member.state == MemberState::Good));
    new.write(OBJECT, 10, &content(3, 500)).unwrap();
    right[10..510].copy_from_slice(&content(3, 500));
    assert!(new.read(OBJECT, 0..len as u64).unwrap() == right);
}

#[test]
fn one_that_only_looks_learns_that_it_was_replaced() {
    let site = site(3);
    let (first, old) = made(&site, Level::Raid5);
    let (_second, new) = open_at(&locations(&site), OPEN_TIMEOUT).unwrap();
    old.write(OBJECT, 0, &[1; 100]).unwrap_err();
    assert!(matches!(old.check_presence(), Err(SetError::Taken)));
    let again = first.attach(&site.hosts[1].location());
    assert!(matches!(again, Err(NetError::Drive { taken: true, .. })), "it cannot have a drive back");
    new.write(OBJECT, 0, &[2; 100]).unwrap();
}

/// Passes connections on, until it is told to break them all, or to keep everything to itself for a while.
struct Fragile {
    address: SocketAddr,
    through: Arc<Mutex<Vec<TcpStream>>>,
    silent: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, silent: &AtomicBool) {
    let mut buffer = vec![0; 65536];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        while silent.load(Ordering::Relaxed) {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&buffer[..len]).is_err() {
            return;
        }
    }
    // The other side hears of the end.
    let _ = to.shutdown(std::net::Shutdown::Both);
}

impl Fragile {
    fn to(address: SocketAddr) -> Fragile {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (through, stop) = (Arc::<Mutex<Vec<TcpStream>>>::default(), Arc::<AtomicBool>::default());
        let silent = Arc::<AtomicBool>::default();
        let (kept, end, quiet) = (through.clone(), stop.clone(), silent.clone());
        let fragile = Fragile { address: listener.local_addr().unwrap(), through, silent, stop };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let server = TcpStream::connect(address).unwrap();
                kept.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let (one, other) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (there, back) = (quiet.clone(), quiet.clone());
                std::thread::spawn(move || pass_on(client, server, &there));
                std::thread::spawn(move || pass_on(other, one, &back));
            }
        });
        fragile
    }

    fn break_all(&self) {
        for stream in self.through.lock().unwrap().drain(..) {
            // It may be gone already.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.silent.store(false, Ordering::Relaxed);
        self.break_all();
        // Wakes whoever accepts.
        let _ = TcpStream::connect(self.address);
    }
}

#[test]
fn connections_that_break_lose_nothing_and_nobody() {
    let site = site(3);
    drop(made(&site, Level::Raid5));
    let ways: Vec<Fragile> = site.hosts.iter().map(|host| Fragile::to(host.address)).collect();
    let through: Vec<DriveLocation> =
        ways.iter().map(|way| DriveLocation::Net { service: way.address.to_string(), name: "d".into() }).collect();
    let (_network, set) = open_at(&through, OPEN_TIMEOUT).unwrap();
    let len = 2 * STRIP * 4;
    let mut right = vec![0; len];
    let rounds = AtomicU64::new(0);
    let mut broken = 0;
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut random = SplitMix64::new(3);
            for round in 0..120 {
                let offset = random.below(len as u64 - 5000) as usize;
                let bytes = content(round, 1 + random.below(5000) as usize);
                rounds.store(round, Ordering::Relaxed);
                set.write(OBJECT, offset as u64, &bytes).unwrap();
                right[offset..offset + bytes.len()].copy_from_slice(&bytes);
                if round % 10 == 0 {
                    set.sync().unwrap();
                    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right, "round {round}");
                }
            }
        });
        // Not faster than work gets done: a drive that cannot be reached for long leaves the set.
        let mut last = 0;
        while !worker.is_finished() {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(1));
            let now = rounds.load(Ordering::Relaxed);
            if now > last {
                last = now;
                ways[broken % 3].break_all();
                broken += 1;
            }
        }
    });
    assert!(broken > 20, "{broken}");
    assert!(set.superblock().members.iter().all(|member| member.state == MemberState::Good));
    set.begin_scrub(1);
    while !set.scrub_some(64, 2).unwrap().done {}
    assert_eq!((set.scrub().healed, set.scrub().lost), (0, 0));
    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right);
}

/// A service that hangs on a host that is up: nothing is refused, nothing breaks, and what was on its way arrives when it goes on.
#[test]
fn a_host_that_says_nothing_more_is_given_up_in_time_and_comes_back() {
    let site = site(4);
    drop(made(&site, Level::Raid5));
    let ways: Vec<Fragile> = site.hosts.iter().map(|host| Fragile::to(host.address)).collect();
    let location = |way: &Fragile| DriveLocation::Net { service: way.address.to_string(), name: "d".into() };
    let through: Vec<DriveLocation> = ways.iter().map(location).collect();
    let (network, set) = open_at(&through, OPEN_TIMEOUT).unwrap();
    let len = 3 * STRIP * 4;
    set.write(OBJECT, 0, &content(1, len)).unwrap();
    set.sync().unwrap();
    let mut right = content(1, len);
    ways[1].silent.store(true, Ordering::Relaxed);
    let began = std::time::Instant::now();
    set.write(OBJECT, 1000, &content(2, 90_000)).unwrap();
    right[1000..91_000].copy_from_slice(&content(2, 90_000));
    let waited = began.elapsed();
    assert!(waited >= GIVE_UP && waited < REPLY_WITHIN + GIVE_UP, "{waited:?}, of {REPLY_WITHIN:?}");
    assert_eq!(set.superblock().members[1].state, MemberState::Missing);
    let began = std::time::Instant::now();
    set.write(OBJECT, 20_000, &content(3, 5000)).unwrap();
    right[20_000..25_000].copy_from_slice(&content(3, 5000));
    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right);
    assert!(began.elapsed() < GIVE_UP, "{:?}: it is not waited for again", began.elapsed());
    assert!(network.attach(&through[1]).is_err());
    ways[1].silent.store(false, Ordering::Relaxed);
    assert_eq!(set.check_presence().unwrap(), [1], "it may have missed something");
    assert_eq!(set.returned(network.attach(&through[1]).unwrap()).unwrap(), 1);
    rebuild(&set);
    set.begin_scrub(1);
    while !set.scrub_some(64, 2).unwrap().done {}
    assert_eq!((set.scrub().healed, set.scrub().lost), (0, 0));
    assert!(set.read(OBJECT, 0..len as u64).unwrap() == right);
}

#[test]
fn what_is_no_drive_says_what_is_wrong() {
    let site = site(1);
    let mut network = Network::new(secret(), false).unwrap();
    let mut why = |location: &DriveLocation| {
        let opened = network.open(std::slice::from_ref(location), Duration::ZERO);
        let drive = opened.map(|mut drives| drives.remove(0));
        drive.flatten().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let DriveLocation::Net { service, .. } = site.hosts[0].location() else { unreachable!("it is one") };
    let other = DriveLocation::Net { service, name: "e".into() };
    let nothing = why(&other);
    assert!(nothing.contains("there is no drive \"e\""), "{nothing}");
    let empty = why(&site.hosts[0].location());
    assert!(empty.contains("cannot be used as a drive"), "{empty}");
    assert!(why(&DriveLocation::Dir("/drives/1".into())).contains("a directory of this host"));
    let maker = Network::new(secret(), false).unwrap();
    maker.make(&[site.hosts[0].location()]).unwrap();
    let again = maker.make(&[site.hosts[0].location()]).unwrap_err().to_string();
    assert!(again.contains("has a drive"), "{again}");
    assert_eq!(why(&site.hosts[0].location()), "");
    let mut stranger = Network::new(Secret::from_bytes(&[b'x'; 32]).unwrap(), false).unwrap();
    assert!(stranger.open(&[site.hosts[0].location()], Duration::ZERO).unwrap()[0].is_err());
}

#[test]
fn a_spare_that_is_lent_to_many_is_given_to_one() {
    let site = site(1);
    let (location, dir) = (site.hosts[0].location(), site.hosts[0].dir.clone());
    let (one, two) = (SetId(1), SetId(2));
    let networks: Vec<Network> = (0..2).map(|_| Network::new(secret(), false).unwrap()).collect();
    let look = || {
        let looks = networks[0].look(std::slice::from_ref(&location), Duration::ZERO).unwrap();
        looks.into_iter().next().flatten().unwrap()
    };
    assert!(look().empty);
    let taken: Vec<bool> = std::thread::scope(|scope| {
        let take = |(network, set): (Network, SetId)| {
            let location = location.clone();
            scope.spawn(move || network.take(&location, set).is_ok())
        };
        let threads: Vec<_> = networks.iter().cloned().zip([one, two]).map(take).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "{taken:?}");
    let (winner, loser) = if taken[0] { (one, two) } else { (two, one) };
    assert_eq!((look().empty, look().claim.map(|claim| claim.0)), (false, Some(winner.0.to_le_bytes())));
    networks[0].take(&location, winner).expect("it may ask again: an answer can be lost");
    networks[0].release(&location, loser).expect_err("it is not its own");
    networks[0].release(&location, winner).unwrap();
    assert!(look().empty && look().claim.is_none());
    networks[0].take(&location, loser).unwrap();
    // Once it is a drive of the set, a request that comes late changes nothing.
    let mut network = networks[1].clone();
    let drive = network.open(std::slice::from_ref(&location), OPEN_TIMEOUT).unwrap().remove(0).unwrap();
    create(&[drive], Geometry::new(Level::Raid0, 1, STRIP).unwrap(), loser, &[DriveId(5)]).unwrap();
    for set in [loser, winner] {
        networks[0].take(&location, set).expect_err("it is in use");
        networks[0].release(&location, set).expect_err("it is in use");
    }
    assert!(dir.join("table").exists() && !look().superblock.is_empty());
}

#[test]
fn a_drive_goes_with_its_set_whoever_holds_it_and_can_be_lent_again() {
    let site = site(3);
    let (network, set) = made(&site, Level::Raid5);
    let locations = locations(&site);
    set.write(OBJECT, 0, &content(1, 100_000)).unwrap();
    let other = network.delete(&locations[0], SetId(6), false).unwrap_err().to_string();
    assert!(other.contains("another set"), "{other}");
    set.write(OBJECT, 0, &content(2, 100_000)).unwrap();
    assert!(set.superblock().members.iter().all(|member| member.state == MemberState::Good), "nothing happened to it");
    locations.iter().for_each(|location| network.delete(location, SetId(5), false).unwrap());
    set.write(OBJECT, 0, &content(3, 100)).expect_err("its holder is refused");
    drop(set);
    for look in network.look(&locations, Duration::ZERO).unwrap().into_iter().flatten() {
        assert_eq!(look.deleted.map(|set| set.0), Some(SetId(5).0.to_le_bytes()));
        assert!(look.superblock.is_empty() && !look.empty && look.missing.is_some());
    }
    network.take(&locations[0], SetId(7)).expect_err("it is not empty yet");
    for location in locations.iter().chain(&locations) {
        network.delete(location, SetId(5), true).expect("it may ask again: an answer can be lost");
    }
    assert!(network.look(&locations, Duration::ZERO).unwrap().iter().flatten().all(|look| look.empty));
    let (_network, set) = made(&site, Level::Raid5);
    assert!(set.read(OBJECT, 0..100).unwrap() == [0; 100]);
}
