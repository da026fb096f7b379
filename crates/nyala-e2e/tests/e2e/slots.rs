// SPDX-License-Identifier: Apache-2.0

//! Parts of the name space that move from one metadata server to another under a checked load, while servers die, and what programs have open
//! and locked there.

use crate::kills::Load;
use nyala_e2e::locker::Locker;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, binary, cleanup, long};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What `nyala up --session-timeout` is told, and longer than a session that nobody takes over stays known.
const SESSION_TIMEOUT: &str = "10s";
const SESSION: Duration = Duration::from_secs(13);

fn servers(cluster: &Cluster) -> Vec<Value> {
    cluster.json(&["meta", "list"]).as_array().cloned().unwrap_or_default()
}

fn tell(cluster: &Cluster, args: &[&str]) -> String {
    let dir = cluster.dir();
    cluster.nyala(args.iter().copied().chain(["--dir", dir.to_str().unwrap()])).must()
}

fn number(server: &Value, what: &str) -> u64 {
    server[what].as_u64().unwrap_or_else(|| panic!("{what} of {server}"))
}

/// Waits until nothing is on its way.
fn arrived(cluster: &Cluster) {
    let began = Instant::now();
    while servers(cluster).iter().any(|server| number(server, "leaving") > 0) {
        let all = servers(cluster);
        assert!(began.elapsed() < Duration::from_secs(120), "still on their way: {all:?}\n{}", cluster.logs(40));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn e2e_slots_move_under_load() {
    let _one = beside_others();
    let more = ["--session-timeout", SESSION_TIMEOUT].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { more, ..Options::default() });
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs("held");
    // In several directories, so that both servers have some.
    let name = |n: usize| format!("d{n}/file");
    let files: Vec<_> = (0..4).map(name).collect();
    for (n, file) in files.iter().enumerate() {
        fs::create_dir(dirs[0].join(format!("d{n}"))).unwrap();
        fs::write(dirs[0].join(file), file).unwrap();
    }
    let mut holder = Locker::start(&files.iter().map(|file| dirs[0].join(file)).collect::<Vec<_>>());
    let mut other = Locker::start(&files.iter().map(|file| dirs[1].join(file)).collect::<Vec<_>>());
    for n in 0..files.len() {
        assert_eq!(holder.ask(&format!("lock {n} ofd write 0 10 try")), "ok");
    }
    let open: Vec<File> = (0..4)
        .map(|n| {
            let path = dirs[0].join(format!("d{n}/gone"));
            fs::write(&path, format!("content {n}")).unwrap();
            let file = File::open(&path).unwrap();
            fs::remove_file(dirs[1].join(format!("d{n}/gone"))).unwrap();
            file
        })
        .collect();

    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 20);
    let began = Instant::now();
    for round in 0..if long() { 40 } else { 4 } {
        let (from, to) = if round % 2 == 0 { (1, 2) } else { (2, 1) };
        let dry = tell(&cluster, &["meta", "drain", &from.to_string()]);
        assert!(dry.contains("nothing is changed"), "{dry}");
        tell(&cluster, &["meta", "drain", &from.to_string(), "--yes"]);
        load.progress(&cluster, 5);
        if round % 4 >= 2 {
            // The giver, or the taker, dies in the middle.
            let dies = format!("meta{}", if round % 4 == 2 { from } else { to });
            cluster.kill(&dies);
            load.progress(&cluster, 0);
            cluster.start_service(&dies);
        }
        arrived(&cluster);
        load.progress(&cluster, 5);
        let all = servers(&cluster);
        let of = |target: u64| all.iter().find(|server| number(server, "target") == target).unwrap();
        assert_eq!((number(of(from), "slots"), number(of(to), "slots")), (0, 128), "{all:?}");
        println!("round {round}: after {:?} all is at {to}", began.elapsed());
    }
    let all = tell(&cluster, &["meta", "rebalance", "--yes", "--wait"]);
    println!("{all}{:?}", servers(&cluster));
    assert!(servers(&cluster).iter().all(|server| number(server, "slots") > 0), "both have some");

    // sleeps: sessions that nobody took over would have ended by then
    std::thread::sleep(SESSION.saturating_sub(began.elapsed()));
    for n in 0..files.len() {
        let answer = other.ask(&format!("lock {n} ofd write 5 1 try"));
        assert!(answer.starts_with(&format!("error {} ", libc::EAGAIN)), "{n} is still locked: {answer}");
        assert_eq!(holder.ask(&format!("lock {n} ofd unlock 0 0 try")), "ok");
        assert_eq!(other.ask(&format!("lock {n} ofd write 5 1 try")), "ok");
    }
    for (n, mut file) in open.into_iter().enumerate() {
        let mut content = String::new();
        file.read_to_string(&mut content).unwrap();
        assert_eq!(content, format!("content {n}"), "removed, and open");
    }
    load.finish(&cluster);
    drop((holder, other));
    if std::env::var_os("KEEP_LOGS").is_some() {
        println!("{}", cluster.logs(400));
    }
    fs::remove_dir_all(&dirs[0]).unwrap();
    tell(&cluster, &["fsck"]);
}

/// A metadata service beside those that `nyala up` made.
struct Joined(Child);

impl Joined {
    fn start(cluster: &Cluster) -> Joined {
        let at = |offset: u16| format!("127.0.0.1:{}", cluster.port() + offset);
        let mut command = Command::new(binary::nyala());
        let (dir, secret) = (cluster.root().join("joined"), cluster.dir().join("secret"));
        command.arg("meta").arg("--dir").arg(dir).arg("--secret").arg(secret);
        command.args(["--mgmt", &at(0), "--listen", &at(25)]).stdin(Stdio::null());
        command.stderr(File::create(cluster.dir().join("log/joined.log")).unwrap());
        Joined(command.spawn().unwrap())
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        cleanup::signal(self.0.id() as i32, libc::SIGKILL);
        let _ = self.0.wait();
    }
}

#[test]
fn e2e_slots_go_to_a_server_that_joins() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, ..Options::default() });
    assert!(tell(&cluster, &["meta", "list"]).contains("good for 60s: 1 at once, 1s apart"));
    tell(&cluster, &["meta", "automatic", "on", "--settle", "3s", "--pause", "100ms"]);
    let dir = cluster.test_dir("files");
    for n in 0..40 {
        let dir = dir.join(format!("d{n}"));
        fs::create_dir(&dir).unwrap();
        (0..60).for_each(|n| fs::write(dir.join(format!("f{n}")), "x").unwrap());
    }
    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 5);

    let _joined = Joined::start(&cluster);
    let began = Instant::now();
    let new = || servers(&cluster).into_iter().find(|server| number(server, "target") == 2);
    let has_share = |server: &Value| number(server, "slots") > 64 + 16 && number(server, "planned") == 0;
    while !new().is_some_and(|server| has_share(&server) && number(&server, "coming") == 0) {
        let all = servers(&cluster);
        assert!(began.elapsed() < Duration::from_secs(120), "it has not got its share: {all:?}\n{}", cluster.logs(40));
        load.progress(&cluster, 1);
    }
    println!("after {:?}: {:?}", began.elapsed(), servers(&cluster));
    assert!(began.elapsed() >= Duration::from_secs(3), "not before it has been good for as long as is set");
    load.progress(&cluster, 5);

    // One that an operator empties stays empty.
    assert!(tell(&cluster, &["meta", "automatic", "off"]).contains("by order only"));
    assert!(tell(&cluster, &["meta", "automatic", "on"]).contains("good for 3s"));
    tell(&cluster, &["meta", "drain", "2", "--yes", "--wait"]);
    // sleeps: nothing is to come back in that time
    std::thread::sleep(Duration::from_secs(5));
    let emptied = new().unwrap();
    assert_eq!(["slots", "coming", "planned"].map(|what| number(&emptied, what)), [0, 0, 0], "{emptied}");
    load.finish(&cluster);
    for n in 0..40 {
        let dir = dir.join(format!("d{n}"));
        (0..60).for_each(|n| assert_eq!(fs::read_to_string(dir.join(format!("f{n}"))).unwrap(), "x"));
    }
    fs::remove_dir_all(&dir).unwrap();
    tell(&cluster, &["fsck"]);
}
