// SPDX-License-Identifier: Apache-2.0

//! Power cuts that lose what was not synced, of each service, of all at once, of members of a mirror: what was synced is
//! there, whole; what was changed since is as before or as after; nothing that is named cannot be read.

use nyala_e2e::coherence::crew::shuffle;
use nyala_e2e::hosts::disks::Disk;
use nyala_e2e::hosts::{Disks, Fault, Plan};
use nyala_e2e::power::maker::Maker;
use nyala_e2e::power::model::{Seen, judge};
use nyala_e2e::power::{Change, File, files, look};
use nyala_e2e::{Hosts, alone, beside_others, cleanup, long};
use nyala_wire::SplitMix64;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

/// Files of a round.
const FILES: usize = 120;

/// Who loses power.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// A service, by the beginning of its name: one of those that are called so.
    One(&'static str),
    /// All of them.
    All(&'static str),
    /// Everything, and the client that changed the files dies too.
    WithClient,
}

/// A disk of a host loses what was not synced, the names too, and keeps what was.
#[test]
fn e2e_power_off_loses_what_was_not_synced() {
    let _one = alone();
    for kind in [Disks::Xfs, Disks::Ext4] {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        let point = root.path().join("disk");
        let disk = Disk::make(kind, &point).unwrap();
        let write = |name: &str| {
            let mut file = fs::File::create(point.join(name)).unwrap();
            file.write_all(&[7; 100_000]).unwrap();
            file
        };
        write("synced").sync_all().unwrap();
        fs::File::open(&point).unwrap().sync_all().unwrap();
        drop(write("lost"));
        let mut grown = fs::OpenOptions::new().append(true).open(point.join("synced")).unwrap();
        grown.write_all(&[8; 100_000]).unwrap();
        drop(grown);
        disk.power_off();
        disk.unmount();
        disk.mount();
        assert_eq!(fs::read(point.join("synced")).unwrap(), [7; 100_000], "{kind:?}");
        assert!(!point.join("lost").exists(), "{kind:?}");
        let problems = cleanup::remove(root.path());
        assert!(problems.is_empty() && !root.path().exists(), "{problems:?}");
    }
}

/// The model says yes to before and after, and no to what lies between where nothing may.
#[test]
fn e2e_power_model_finds_what_is_wrong() {
    let file =
        |change, new: &[u8]| File { name: "f".into(), old: Some(vec![1; 8]), change, new: new.into(), open: false };
    let is = |content: &[u8]| Seen::from([("f".to_owned(), Ok(content.to_vec()))]);
    let gone = Seen::new();
    let right = |file: &File, seen: &Seen| judge(file, seen).is_none();
    let unlinked = file(Change::Unlink, &[1; 8]);
    assert!(right(&unlinked, &gone) && right(&unlinked, &is(&[1; 8])) && !right(&unlinked, &is(&[0; 8])));
    assert!(!right(&unlinked, &Seen::from([("f".to_owned(), Err(libc::ESTALE))])));
    let cut = file(Change::Truncate(3), &[1; 3]);
    assert!(right(&cut, &is(&[1; 3])) && right(&cut, &is(&[1; 8])) && !right(&cut, &is(&[1, 1, 1, 0, 0, 0, 0, 0])));
    let grown = file(Change::Append { gap: 0, len: 2 }, &[1, 1, 1, 1, 1, 1, 1, 1, 2, 2]);
    assert!(right(&grown, &is(&[1; 8])) && right(&grown, &is(&[1, 1, 1, 1, 1, 1, 1, 1, 0, 2])));
    assert!(!right(&grown, &is(&[1; 7])) && !right(&grown, &is(&[0; 10])) && !right(&grown, &gone));
    let synced = file(Change::Sync(1), &[1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert!(right(&synced, &is(&synced.new)) && !right(&synced, &is(&[1; 8])));
    let moved = file(Change::Move, &[1; 8]);
    assert!(right(&moved, &is(&[1; 8])) && !right(&moved, &gone));
}

/// A number that nobody has had, or the one that is asked for.
fn seed() -> u64 {
    let asked = std::env::var("NYALA_E2E_SEED").ok().and_then(|seed| seed.parse().ok());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    asked.unwrap_or(since.as_nanos() as u64 % 1_000_000)
}

/// Who loses power in this round.
fn struck(hosts: &Hosts, cut: Cut, random: &mut SplitMix64) -> Vec<String> {
    let all = hosts.service_names();
    let (prefix, one) = match cut {
        Cut::One(prefix) => (prefix, true),
        Cut::All(prefix) => (prefix, false),
        Cut::WithClient => ("", false),
    };
    let mut named: Vec<String> = all.into_iter().filter(|name| name.starts_with(prefix)).collect();
    if one {
        shuffle(random, &mut named);
        named.truncate(1);
    }
    named
}

/// Makes, syncs, changes, cuts, looks; gives what is wrong.
fn round(hosts: &mut Hosts, number: usize, cut: Cut, seed: u64) -> Vec<String> {
    let mut random = SplitMix64::new(seed);
    let mut files = files(&mut random, FILES);
    let name = format!("round{number}");
    let [dir, elsewhere] = ["client1", "client2"].map(|client| hosts.mount_of(client).join(&name));
    let began = Instant::now();
    fs::create_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}\n{}", dir.display(), hosts.logs(30)));
    let mut maker = Maker::start(&dir, &elsewhere, seed, FILES);
    // sleeps: the power goes at any time
    std::thread::sleep(Duration::from_millis(random.index(2000) as u64));
    maker.change();
    let (made, wait) = (began.elapsed(), random.index(1200) as u64);
    // sleeps: the power goes at any time
    std::thread::sleep(Duration::from_millis(wait));
    let struck = struck(hosts, cut, &mut random);
    hosts.strike_all(&struck.iter().map(String::as_str).collect::<Vec<_>>(), Fault::PoweredOff);
    // sleeps: the power goes at any time
    std::thread::sleep(Duration::from_millis(random.index(1000) as u64));
    for name in &struck {
        hosts.heal(name);
    }
    let mut after = None;
    if matches!(cut, Cut::WithClient) {
        hosts.restart_client("client1");
    } else if random.index(2) == 0 {
        // What is confirmed now was written before.
        let synced = maker.sync();
        files.iter_mut().filter(|file| synced.contains(&file.name)).for_each(File::confirm);
        after = Some(synced.len());
    }
    let mut wrong = Vec::new();
    // The client that did nothing sees what the servers have; the other one may know more, and must not know it better.
    for from in [&elsewhere, &dir] {
        match look::see(from) {
            Ok(seen) => {
                wrong.extend(look::wrong(&files, &seen).into_iter().map(|why| format!("{}: {why}", client(from))))
            }
            Err(why) => panic!("{cut:?} of {struck:?}, seed {seed}: {why}; so far {wrong:#?}\n{}", hosts.logs(30)),
        }
    }
    drop(maker);
    hosts.until("all is well again", Hosts::is_whole);
    hosts.assert_fsck_clean_but_for_power_cuts();
    if let Err(error) = fs::remove_dir_all(&dir) {
        wrong.push(format!("the round's directory cannot be removed: {error}"));
    }
    println!(
        "round {number}, seed {seed}: {cut:?} of {struck:?} {wait} ms after the last change: {} wrong; {after:?} synced after it; {:.1} s, {:.1} s of them before",
        wrong.len(),
        began.elapsed().as_secs_f64(),
        made.as_secs_f64()
    );
    let mut kinds: Vec<&String> = wrong.iter().collect();
    kinds.sort_by_key(|why| why.split_once(": ").map(|(_, rest)| rest.to_owned()));
    kinds.iter().step_by(kinds.len() / 12 + 1).for_each(|why| println!("  {why}"));
    wrong.into_iter().map(|why| format!("round {number}, seed {seed}, {cut:?}: {why}")).collect()
}

fn client(dir: &std::path::Path) -> String {
    let mount = dir.parent().and_then(std::path::Path::file_name).unwrap_or_default();
    mount.to_string_lossy().into_owned()
}

/// Rounds with these cuts, and in the long form as many more as make 20, in an order of their own.
fn rounds(plan: Plan, cuts: &[Cut]) {
    let seed = seed();
    println!("NYALA_E2E_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let mut hosts = Hosts::start(plan);
    let mut wrong = Vec::new();
    let count = if long() { 20 } else { cuts.len() };
    let mut all: Vec<Cut> = (0..count).map(|number| cuts[number % cuts.len()]).collect();
    shuffle(&mut random, &mut all);
    for (number, cut) in all.into_iter().enumerate() {
        wrong.extend(round(&mut hosts, number, cut, random.bits() % 1_000_000));
    }
    hosts.assert_fsck_clean();
    assert!(wrong.is_empty(), "{} wrong, of them: {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
}

/// The services lose power one by one and all together.
#[test]
fn e2e_power_cut_keeps_what_was_synced() {
    let _one = beside_others();
    let plan = Plan { disks: Disks::Xfs, clients: 2, stripes: 2, session_timeout_s: 5, ..Plan::default() };
    rounds(plan, &[Cut::All("meta"), Cut::All("storage"), Cut::WithClient]);
}

/// Members of a mirror group lose power, one alone, and both with everything else.
#[test]
fn e2e_power_cut_of_a_mirrors_members_keeps_what_was_synced() {
    let _one = beside_others();
    let plan = Plan { disks: Disks::Ext4, mirror: true, clients: 2, session_timeout_s: 5, ..Plan::default() };
    rounds(plan, &[Cut::One("storage"), Cut::All("")]);
}
