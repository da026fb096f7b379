// SPDX-License-Identifier: Apache-2.0

//! Builds follow each other without a stop: services are replaced one at a time while a checked load goes on, and what an earlier build
//! left on disk is read by this one.
//!
//! `make test-upgrade` builds an earlier commit and names its program in `NYALA_BEFORE`. Without it both builds are this one, which shows the
//! replacing, and the directory in `tests/golden` shows the formats; messages are compared byte by byte by nyala-wire's tests.

use crate::kills::Load;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, beside_others, binary, load};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(90);
/// Steps after which a load has done everything that it does.
const ENOUGH: usize = 100;

/// The build that the cluster begins with.
fn before() -> PathBuf {
    std::env::var_os("NYALA_BEFORE").map_or_else(|| binary::nyala().to_path_buf(), PathBuf::from)
}

/// The program that a service runs.
fn program(cluster: &Cluster, name: &str) -> PathBuf {
    std::fs::read_link(format!("/proc/{}/exe", cluster.pid(name))).unwrap()
}

fn same(one: &Path, other: &Path) -> bool {
    one.canonicalize().unwrap() == other.canonicalize().unwrap()
}

#[test]
fn e2e_upgrade_one_service_at_a_time() {
    let _one = beside_others();
    let (before, now) = (before(), binary::nyala());
    let more = ["--mgmt", "3", "--mirror"].map(str::to_owned).to_vec();
    let cluster = Cluster::prepare(Options { meta: 1, storage: 4, storage_services: 2, more });
    cluster.up_with(&before).must();
    cluster.wait_healthy();
    let mut work = Load::start(&cluster, "load");
    work.progress(&cluster, 20);
    let mut services: Vec<String> = cluster.running().into_iter().filter(|name| name != "mount").collect();
    // Management first: it has to understand what newer services say.
    services.sort_by_key(|name| (!name.starts_with("mgmt"), !name.starts_with("meta"), name.clone()));
    assert!(services.len() >= 7, "three of management, a metadata server and its spare, two of storage: {services:?}");
    for name in &services {
        assert!(same(&program(&cluster, name), &before), "{name}");
        cluster.stop_service(name);
        cluster.start_service(name);
        assert!(same(&program(&cluster, name), now), "{name} is of this build");
        work.progress(&cluster, 20);
        cluster.wait_healthy();
    }
    // The mount is still of the other build.
    work.progress(&cluster, 20);
    assert!(same(&program(&cluster, "mount"), &before));
    work.finish(&cluster);
    cluster.stop_service("mount");
    cluster.start_service("mount");
    assert!(same(&program(&cluster, "mount"), now));
    let (dir, journals) = (cluster.mount().join("load"), cluster.root().join("journals-load"));
    let verified = load::verify(&dir, &journals, false);
    assert!(verified.wrong.is_empty(), "{:?}", verified.wrong);
    let mut again = Load::start(&cluster, "again");
    again.progress(&cluster, ENOUGH);
    again.finish(&cluster);
}

/// Everything that a program sees of what was stored, as text.
fn manifest(dir: &Path) -> String {
    let script = r"cd DIR
        find . -mindepth 1 -printf '%p %y %m %U %G %n %s %l\n' | LC_ALL=C sort
        find . -type f -newermt 2001-01-01 ! -newermt 2002-01-01 -printf '%p %T@\n' | LC_ALL=C sort
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum
        getfattr -R -d -m 'user\.' --absolute-names . | grep -v '^$' | cut -c1-60
        getfacl -c small
        NYALA entry info pattern striped --output json | grep -E 'chunk|pattern|targets' || true";
    let script =
        script.replace("DIR", &dir.display().to_string()).replace("NYALA", &binary::nyala().display().to_string());
    sh(&script, LIMIT).must()
}

fn golden(name: &str) -> PathBuf {
    binary::repository().join("crates/nyala-e2e/tests/golden").join(name)
}

/// Puts a stored directory in the place of a cluster that was not started, with the ports and directories of that.
fn unpack(cluster: &Cluster, name: &str) {
    let archive = golden(&format!("{name}.tar.xz"));
    let unpacked = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(cluster.root()).status();
    assert!(unpacked.unwrap().success());
    let (root, port) = (cluster.root().display().to_string(), cluster.port());
    let settings = [cluster.dir().join("cluster.toml")].into_iter();
    let more = std::fs::read_dir(cluster.dir().join("conf")).unwrap().map(|entry| entry.unwrap().path());
    for path in settings.chain(more) {
        let text = std::fs::read_to_string(&path).unwrap().replace("/golden", &root);
        // In two steps: the new ones may be among the old ones.
        let named = (0..100).fold(text, |text, at| text.replace(&(29_300 + at).to_string(), &format!("<{at}>")));
        let text = (0..100).fold(named, |text, at| text.replace(&format!("<{at}>"), &(port + at).to_string()));
        std::fs::write(&path, text).unwrap();
    }
}

/// What programs see is what they saw when it was stored.
#[track_caller]
fn is_as_stored(cluster: &Cluster, name: &str) {
    let stored = std::fs::read_to_string(golden(&format!("{name}.txt"))).unwrap();
    let found = manifest(&cluster.mount());
    let differs = found.lines().zip(stored.lines()).find(|(found, stored)| found != stored);
    assert_eq!((differs, found.lines().count()), (None, stored.lines().count()));
}

/// What a cluster of an earlier build left: two metadata servers with a spare each, and two mirrored storage targets.
#[test]
fn e2e_upgrade_reads_what_an_earlier_build_stored() {
    let _one = beside_others();
    let cluster = Cluster::prepare(Options { meta: 2, storage: 2, storage_services: 2, more: vec!["--mirror".into()] });
    unpack(&cluster, "cluster-1");
    cluster.up().must();
    cluster.wait_healthy();
    is_as_stored(&cluster, "cluster-1");
    // And it goes on from there.
    let mut work = Load::start(&cluster, "load");
    work.progress(&cluster, ENOUGH);
    work.finish(&cluster);
    sh(
        &format!("cd {} && rm -r small many deep pattern striped aligned sparse && ls", cluster.mount().display()),
        LIMIT,
    )
    .must();
}

/// Adds a metadata service that is a spare to a cluster that is up.
fn add_spare(cluster: &Cluster) {
    let (first, own) = ((cluster.port() + 10).to_string(), (cluster.port() + 12).to_string());
    let (conf, list) = (cluster.dir().join("conf"), cluster.dir().join("cluster.toml"));
    let settings = std::fs::read_to_string(conf.join("meta1.toml")).unwrap();
    let settings = settings.replace("meta1", "meta2").replace(&first, &own) + "\nspare = true\n";
    std::fs::write(conf.join("meta2.toml"), settings).unwrap();
    let storage = "[[services]]\nname = \"storage1\"";
    let spare =
        format!("[[services]]\nname = \"meta2\"\nkind = \"meta\"\nlisten = \"127.0.0.1:{own}\"\nspare = true\n\n");
    let services = std::fs::read_to_string(&list).unwrap().replacen(storage, &(spare + storage), 1);
    std::fs::write(&list, services).unwrap();
    cluster.start_service("meta2");
}

/// Whether metadata has a second member, which has everything.
fn is_mirrored(cluster: &Cluster) -> bool {
    let groups = cluster.json(&["mirror", "list"]);
    let members = groups.as_array().unwrap().iter().flat_map(|group| group["members"].as_array().unwrap());
    members.filter(|member| member["state"] == "good").count() == 2
}

/// The same of a build that could not mirror metadata: it becomes mirrored while programs work, and the spare then serves what was stored.
#[test]
fn e2e_upgrade_mirrors_metadata_that_an_earlier_build_stored() {
    let _one = beside_others();
    let cluster = Cluster::prepare(Options { meta: 1, storage: 2, storage_services: 2, more: Vec::new() });
    unpack(&cluster, "cluster-0");
    cluster.up().must();
    cluster.wait_healthy();
    is_as_stored(&cluster, "cluster-0");
    let mut work = Load::start(&cluster, "load");
    work.progress(&cluster, 20);
    add_spare(&cluster);
    let dir = cluster.dir().display().to_string();
    cluster.nyala(["mirror", "create", "--auto", "--kind", "meta", "--dir", &dir]).must();
    let began = std::time::Instant::now();
    while !is_mirrored(&cluster) {
        assert!(began.elapsed() < LIMIT, "{}", cluster.json(&["mirror", "list"]));
        work.progress(&cluster, 5);
    }
    work.progress(&cluster, 20);
    cluster.kill("meta1");
    work.progress(&cluster, 20);
    work.finish(&cluster);
    sh(&format!("rm -r {}", cluster.mount().join("load").display()), LIMIT).must();
    is_as_stored(&cluster, "cluster-0");
    cluster.start_service("meta1");
    // With the spare there is a target more than the harness began with, so both members are what is waited for.
    let began = std::time::Instant::now();
    while !is_mirrored(&cluster) {
        assert!(began.elapsed() < LIMIT, "{}", cluster.json(&["mirror", "list"]));
        // sleeps: between two looks
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
