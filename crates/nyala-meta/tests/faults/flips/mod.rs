// SPDX-License-Identifier: Apache-2.0

//! Bits that flip on the disks of every service, in every kind of structure, while it is stopped and while it runs: management,
//! metadata and two storage services, as shipped, on real directories. A client that has seen nothing before then finds the right
//! names, attributes and bytes, or errors. What is mirrored it finds always, and afterwards both members hold it. A service
//! that does not start, or ends, names the file and says what to do.
//!
//! A short form is part of every test run and prints its seed. `NYALA_FLIPS` is the number of trials of a long one
//! (`make flips`), `NYALA_FLIPS_SEED` repeats one, `NYALA_FLIPS_ONLY` does one trial of it.

mod cluster;
mod content;
mod scrub;
mod snapshot;
mod trial;

use cluster::{Cluster, Who};
use content::Model;
use nyala_transport::Secret;
use nyala_wire::StripePattern;
use snapshot::Snapshot;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use trial::{Known, Outcome, Trial};

/// Of the short form.
const SHORT: Duration = Duration::from_secs(25);
/// Trials at once: much of their time they wait.
const MAX_CONCURRENT: usize = 12;
/// Until logs vouch for what was synced.
const VOUCHED: Duration = Duration::from_millis(1200);
/// Until members of a mirror have forgotten that a change was under way.
const FORGET: Duration = Duration::from_secs(5);

fn block_on<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

/// One request to management.
fn post(cluster: &Cluster, dir: &Path, path: &str, body: &str) {
    let token = std::fs::read_to_string(dir.join("mgmt/rest.token")).unwrap();
    let mut stream = TcpStream::connect(cluster.rest()).unwrap();
    let (token, len) = (token.trim(), body.len());
    write!(
        stream,
        "POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {len}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
}

fn start(cluster: &mut Cluster) {
    [Who::Mgmt, Who::Meta, Who::Storage1, Who::Storage2].into_iter().for_each(|who| cluster.start(who));
    let ended = block_on(cluster.settled());
    assert!(ended.is_empty(), "{ended:?}");
    assert!(block_on(cluster.groups_are_good(Duration::from_secs(30))));
}

fn stop(cluster: &mut Cluster) {
    for (who, ended) in cluster.stop_all() {
        ended.unwrap_or_else(|words| panic!("{who:?}: {words}"));
    }
}

/// Brings what is in the logs of stores that are not in use into their trees.
fn checkpoint(dir: &Path) {
    for store in ["mgmt/store", "meta/tables", "storage1/target/kv", "storage2/target/kv"] {
        let options = nyala_store::Options { segment_bytes: 128 << 10, ..Default::default() };
        let (store, _) = nyala_store::Store::open(&dir.join(store), options).unwrap();
        store.checkpoint_blocking().unwrap();
        store.close().unwrap();
    }
}

async fn fill(cluster: &Cluster, model: Option<Model>, round: u64) -> Model {
    let client = cluster.client(Duration::from_secs(30)).await.unwrap();
    let pattern = StripePattern { chunk_bytes: 64 << 10, num_targets: 2, ..StripePattern::default() };
    let mut model = match model {
        Some(model) => model,
        None => Model::begin(&client, pattern).await.unwrap(),
    };
    model.fill(&client, round).await.unwrap();
    client.shutdown().await.unwrap();
    model
}

/// Made once for all tests.
static KNOWN: OnceLock<Known> = OnceLock::new();

/// Makes a cluster, fills it, and keeps what is on its disks: after an end in order, brought into trees, and as a kill
/// leaves it, at once and a while later.
fn known() -> Known {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    Secret::generate(&dir.join("secret")).unwrap();
    let secret = std::fs::read(dir.join("secret")).unwrap();
    let take = |name| Snapshot::take(name, dir);
    let mut cluster = Cluster::at(dir);
    start(&mut cluster);
    let map = block_on(cluster.map()).unwrap();
    let members: Vec<u16> = map.targets_of(nyala_wire::map::TargetKind::Storage).map(|target| target.id.0).collect();
    post(&cluster, dir, "/groups", &format!("{{\"kind\":\"storage\",\"members\":{members:?}}}"));
    let model = block_on(fill(&cluster, None, 0));
    let map = block_on(cluster.map()).unwrap();
    // sleeps: servers vouch for what is so old
    std::thread::sleep(VOUCHED);
    let mut snapshots = vec![(take("killed at once"), model.clone())];
    stop(&mut cluster);
    checkpoint(dir);
    start(&mut cluster);
    let model = block_on(fill(&cluster, Some(model), 1));
    // sleeps: what is so old is known to be on disk, and forgotten
    std::thread::sleep(FORGET);
    snapshots.push((take("killed"), model.clone()));
    stop(&mut cluster);
    snapshots.push((take("stopped"), model.clone()));
    checkpoint(dir);
    snapshots.push((take("all in trees"), model));
    Known { secret, snapshots, map }
}

type Tally = BTreeMap<(String, &'static str), BTreeMap<Outcome, u64>>;

fn print(tally: &Tally) {
    for ((who, kind), outcomes) in tally {
        let outcomes: Vec<_> = outcomes.iter().map(|(outcome, count)| format!("{outcome:?} {count}")).collect();
        println!("{who:9} {kind:26} {}", outcomes.join(", "));
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn a_flipped_bit_is_never_a_wrong_answer() {
    let seed = number("NYALA_FLIPS_SEED").unwrap_or_else(|| std::process::id().into());
    println!("NYALA_FLIPS_SEED={seed}");
    let known = KNOWN.get_or_init(known);
    let (only, count) = (number("NYALA_FLIPS_ONLY"), number("NYALA_FLIPS"));
    let (began, next) = (Instant::now(), AtomicU64::new(only.unwrap_or(0)));
    let (tally, wrong) = (Mutex::new(Tally::new()), Mutex::new(Vec::new()));
    let done = || match (only, count) {
        (Some(only), _) => next.load(Ordering::Relaxed) > only,
        (None, Some(count)) => next.load(Ordering::Relaxed) >= count,
        (None, None) => began.elapsed() >= SHORT,
    };
    let one = |number: u64| {
        let mut trial = Trial::random(known, seed, number);
        match block_on(trial.run(known)) {
            Ok(outcome) => {
                let key = (format!("{:?}", trial.flip.who), trial.flip.kind);
                *tally.lock().unwrap().entry(key).or_default().entry(outcome).or_default() += 1;
            }
            Err(why) => {
                let what = format!("{}\n    {why}", trial.describe(known));
                println!("{what}");
                wrong.lock().unwrap().push(what);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..if only.is_some() { 1 } else { MAX_CONCURRENT } {
            scope.spawn(|| {
                while !done() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    one(number);
                    if number % 500 == 499 {
                        println!("about {} trials, {:?}", number + 1, began.elapsed());
                    }
                }
            });
        }
    });
    let (tally, wrong) = (tally.into_inner().unwrap(), wrong.into_inner().unwrap());
    print(&tally);
    let trials = next.load(Ordering::Relaxed) - only.unwrap_or(0);
    println!("{trials} trials in {:?}", began.elapsed());
    assert!(wrong.is_empty(), "{} of {trials} trials went wrong; the first: {}", wrong.len(), wrong[0]);
    assert!(only.is_some() || trials >= 20, "hardly any trial: {trials}");
}

/// All services were stopped, one after the other, and start again: the member that went first is good a moment after the other.
#[test]
fn a_damaged_copy_is_read_from_a_member_that_becomes_good_a_moment_later() {
    let known = KNOWN.get_or_init(known);
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let (snapshot, model) = known.snapshots.iter().find(|(snapshot, _)| snapshot.name == "stopped").unwrap();
    snapshot.put(dir);
    trial::put_secret(dir, &known.secret);
    let mut files = model.files("mirrored");
    let (inode, content) = files.next().unwrap();
    snapshot::damage_chunk_file(&dir.join("storage2/target"), inode);
    let mut cluster = Cluster::at(dir);
    [Who::Mgmt, Who::Meta, Who::Storage2].into_iter().for_each(|who| cluster.start(who));
    assert!(block_on(cluster.settled()).is_empty());
    post(&cluster, dir, "/groups/1/resync", "{\"stopped\":true}");
    cluster.start(Who::Storage1);
    assert!(block_on(cluster.settled()).is_empty());
    let read = block_on(async {
        let client = cluster.client(Duration::from_secs(20)).await.unwrap();
        let start = async {
            // sleeps: the read is under way by then
            tokio::time::sleep(Duration::from_secs(1)).await;
            post(&cluster, dir, "/groups/1/resync", "{\"stopped\":false}");
        };
        let read = tokio::join!(content::read_all(&client, inode, content.len() as u64), start).0;
        client.shutdown().await.unwrap();
        read
    });
    stop(&mut cluster);
    assert!(read.unwrap() == content);
}
