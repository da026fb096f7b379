// SPDX-License-Identifier: Apache-2.0

//! A target on an n+m set of six drives that six storage services lend out, under a checked load: two of them are killed and come back, and then the
//! service of the target is killed for good and another one, which was told to stand by, serves it.

use crate::kills::Load;
use nyala_e2e::cluster::text;
use nyala_e2e::run::Outcome;
use nyala_e2e::{Cluster, Options, beside_others, binary, run, wait_until};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TARGET: &str = "150";
const HOSTS: u16 = 6;

/// A storage service of its own process, beside those of the cluster.
struct Service {
    settings: PathBuf,
    child: Option<Child>,
}

impl Service {
    fn new(settings: PathBuf, text: &str) -> Service {
        fs::write(&settings, text).unwrap();
        let mut service = Service { settings, child: None };
        service.start();
        service
    }

    fn start(&mut self) {
        let log = File::options().append(true).create(true).open(self.settings.with_extension("log")).unwrap();
        let mut command = Command::new(binary::nyala());
        command.args(["storage", "--config", &text(&self.settings)]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.settings.with_extension("log")).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.settings.display(), run::tail(&self.log(), 20));
        }
        self.kill();
    }
}

/// The settings of the cluster's storage service, without its target.
fn common(cluster: &Cluster) -> String {
    let settings = fs::read_to_string(cluster.dir().join("conf/storage1.toml")).unwrap();
    settings.split("[[targets]]").next().unwrap().to_owned()
}

/// The same for another service.
fn other(cluster: &Cluster, name: &str, port: u16) -> String {
    let ours = |line: &&str| !["dir", "listen", "alias"].iter().any(|key| line.starts_with(&format!("{key} = ")));
    let common = common(cluster);
    let kept: Vec<&str> = common.lines().filter(ours).collect();
    let dir = cluster.root().join(name);
    format!("dir = {dir:?}\nlisten = \"127.0.0.1:{port}\"\nalias = {name:?}\n{}\n", kept.join("\n"))
}

fn exporter(cluster: &Cluster, at: u16) -> Service {
    let (name, port) = (format!("host{at}"), cluster.port() + 33 + at);
    let own = format!("drive-listen = \"127.0.0.1:{port}\"\n{}", other(cluster, &name, 0));
    let export = |name: &str| {
        let drive = cluster.root().join(format!("{name}{at}"));
        fs::create_dir(&drive).unwrap();
        format!("[[drive-exports]]\nname = {name:?}\ndir = {drive:?}\n")
    };
    let exports = format!("{}{}", export("d"), export("half"));
    Service::new(cluster.root().join(format!("{name}.toml")), &format!("{own}{exports}"))
}

/// What `nyala raid show` says, once it is as wanted.
fn wait_set(cluster: &Cluster, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let (began, dir) = (Instant::now(), text(&cluster.dir()));
    loop {
        let shown = cluster.nyala(["raid", "show", TARGET, "--dir", &dir, "--output", "json"]);
        let value: Value = serde_json::from_str(&shown.out).unwrap_or_default();
        if value[0]["members"].is_array() && wanted(&value[0]) {
            return value[0].clone();
        }
        assert!(began.elapsed() < Duration::from_secs(90), "not {what}: {}\n{}", shown.describe(), cluster.logs(30));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn in_state(set: &Value, state: &str) -> usize {
    set["members"].as_array().unwrap().iter().filter(|member| member["state"] == state).count()
}

fn online(cluster: &Cluster) -> bool {
    let targets = cluster.json(&["target", "list", "--state"]);
    let ours = |target: &Value| target["id"] == 150 || target["target"] == 150;
    let is_online =
        |target: &Value| target["reachability"].as_str().is_some_and(|is| is.eq_ignore_ascii_case("online"));
    targets.as_array().unwrap().iter().any(|target| ours(target) && is_online(target))
}

fn wait_online(cluster: &Cluster) {
    let began = Instant::now();
    while !online(cluster) {
        let targets = cluster.json(&["target", "list", "--state"]);
        assert!(began.elapsed() < Duration::from_secs(60), "{targets}\n{}", cluster.logs(30));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A drive of that name of each of the first hosts, as settings name it.
fn drive_locations(cluster: &Cluster, name: &str, hosts: u16) -> Vec<String> {
    (0..hosts).map(|at| format!("net://127.0.0.1:{}/{name}", cluster.port() + 33 + at)).collect()
}

/// `nyala raid COMMAND`, about drives of hosts.
fn raid(cluster: &Cluster, command: &[&str], places: &[String]) -> Outcome {
    let secret = text(&cluster.dir().join("secret"));
    let words = [&["raid"], command, &["--secret", &secret]].concat();
    cluster.nyala(words.into_iter().map(str::to_owned).chain(places.to_vec()))
}

/// Half of a mirror, whose other host was killed, starts when an operator says so; the set that a service has needs no help and keeps its drives.
fn starts_without(cluster: &Cluster, mirror: &[String]) {
    let said = |command: &[&str], of: &[String]| raid(cluster, command, of).must();
    assert!(said(&["start", "--yes"], &drive_locations(cluster, "d", HOSTS)).contains("there is nothing to do"));
    let looked = said(&["start"], mirror);
    assert!(looked.contains("start without [1] of its 2 drives") && looked.contains("Nothing was changed"), "{looked}");
    assert!(said(&["start", "--yes"], mirror).contains("starts without [1] of its 2 drives from now on"));
    assert!(said(&["start", "--yes"], mirror).contains("there is nothing to do"));
}

/// Makes a set of the drives, and of it the only storage target. Gives what names it in settings.
fn settle(cluster: &Cluster) -> String {
    let places = drive_locations(cluster, "d", HOSTS);
    let create = |places: &[String]| {
        raid(cluster, &["create", "--level", "n+m", "--parity", "2", "--strip", "16k", "--yes"], places)
    };
    let began = Instant::now();
    loop {
        let made = create(&places);
        if made.ok() {
            assert!(made.out.contains("WARNING"), "all of them are on one host: {}", made.out);
            break;
        }
        // They may not listen yet.
        assert!(began.elapsed() < Duration::from_secs(20), "{}", made.describe());
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(!create(&places).ok(), "drives of a set are not made anew");
    let quoted: Vec<String> = places.iter().map(|place| format!("{place:?}")).collect();
    let target = format!("[[targets]]\nid = {TARGET}\ndrives = [{}]\n", quoted.join(", "));
    cluster.stop_service("storage1");
    let dir = text(&cluster.dir());
    cluster.nyala(["target", "remove", "101", "--yes", "--dir", &dir]).must();
    fs::write(cluster.dir().join("conf/storage1.toml"), format!("{}{target}", common(cluster))).unwrap();
    cluster.start_service("storage1");
    wait_online(cluster);
    target
}

fn stands_by(service: &Service) {
    wait_until(
        Duration::from_secs(30),
        || service.log().contains("is taken over when that is offline"),
        || service.log(),
    );
}

/// Ends those who look at it, however the test goes on.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The longest that one write and sync of a small file takes until `until` is set.
fn pauses(dir: &Path, until: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !until.load(Ordering::Relaxed) {
        let began = Instant::now();
        let file = File::options().write(true).create(true).truncate(true).open(dir.join("pulse")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[7; 100_000], 0).unwrap();
        file.sync_all().unwrap();
        longest = longest.max(began.elapsed());
    }
    longest
}

#[test]
fn e2e_raid_over_hosts_two_die_and_the_target_moves() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more: vec![] });
    let mut hosts: Vec<Service> = (0..HOSTS).map(|at| exporter(&cluster, at)).collect();
    let target = settle(&cluster);
    let mirror = drive_locations(&cluster, "half", 2);
    raid(&cluster, &["create", "--level", "1", "--yes"], &mirror).must();
    let set = wait_set(&cluster, "good", |set| in_state(set, "good") == 6);
    assert!(set["members"][3]["drive"].as_str().is_some_and(|drive| drive.starts_with("net://")), "{set}");
    let dir = cluster.test_dir("kept");
    let content = nyala_e2e::posix::pattern(9, 3_000_000);
    fs::write(dir.join("kept"), &content).unwrap();
    File::open(dir.join("kept")).unwrap().sync_all().unwrap();

    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 10);
    let over = Over(Arc::default());
    let (until, place) = (over.0.clone(), dir.clone());
    let pulse = std::thread::spawn(move || pauses(&place, &until));
    hosts[1].kill();
    hosts[4].kill();
    load.progress(&cluster, 10);
    wait_set(&cluster, "without two", |set| in_state(set, "missing") == 2);
    drop(over);
    let pause = pulse.join().unwrap();
    println!("two of six hosts killed: the longest write and sync of 100 kB took {pause:?}");
    assert!(pause < Duration::from_secs(20), "{pause:?}");
    assert!(fs::read(dir.join("kept")).unwrap() == content, "without two hosts");
    starts_without(&cluster, &mirror);
    load.progress(&cluster, 10);
    hosts[1].start();
    hosts[4].start();
    let began = Instant::now();
    wait_set(&cluster, "whole again", |set| in_state(set, "good") == 6);
    println!("caught up after {:?}", began.elapsed());
    load.progress(&cluster, 10);

    // The one that stands by touches nothing as long as the other one serves.
    let settings = format!("{}{target}", other(&cluster, "standby", cluster.port() + 32));
    let standby = Service::new(cluster.root().join("standby.toml"), &settings);
    stands_by(&standby);
    load.progress(&cluster, 10);
    cluster.kill("storage1");
    let began = Instant::now();
    load.progress(&cluster, 10);
    println!("the target's host killed: the load goes on after {:?}", began.elapsed());
    wait_set(&cluster, "served by the other one", |set| in_state(set, "good") == 6);
    load.finish(&cluster);
    assert!(fs::read(dir.join("kept")).unwrap() == content, "served by the other one");

    // The old one comes back and sees that it is not needed.
    let settings = fs::read_to_string(cluster.dir().join("conf/storage1.toml")).unwrap();
    let old = Service::new(cluster.root().join("old.toml"), &settings);
    stands_by(&old);
    assert!(online(&cluster));
    fs::write(dir.join("more"), &content).unwrap();
    assert!(fs::read(dir.join("more")).unwrap() == content);
}
