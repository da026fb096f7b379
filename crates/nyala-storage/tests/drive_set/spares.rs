// SPDX-License-Identifier: Apache-2.0

//! Two targets that have the same spare, of this host or another one: whoever needs it first has it, once and for good.

use crate::common::{Cluster, Storage, client};
use crate::far::{Lender, port};
use crate::service::{content, empty, file, raid_of, sync, write};
use nyala_raid::Level;
use nyala_storage::{DriveLocation, SetSpec, StorageConfig, TargetSpec};
use nyala_transport::{Connection, Role};
use nyala_wire::TargetId;
use nyala_wire::raid::{RaidOrder, RaidState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TARGETS: [TargetId; 2] = [TargetId(11), TargetId(12)];

fn drive(cluster: &Cluster, name: &str) -> PathBuf {
    cluster.dir.path().join(name)
}

/// Two sets of three drives that have the same spares.
fn config(cluster: &Cluster, spares: &[DriveLocation]) -> StorageConfig {
    let target = |names: [&str; 3]| {
        let drives: Vec<DriveLocation> = names.iter().map(|name| drive(cluster, name).into()).collect();
        let (level, spare_after) = (Some(Level::Raid5), Some(Duration::from_millis(1)));
        let set = SetSpec { drives, level, spares: spares.to_vec(), spare_after, ..SetSpec::default() };
        TargetSpec { dir: drive(cluster, names[0]), set: Some(set), ..TargetSpec::default() }
    };
    let config = cluster.config("a");
    StorageConfig { listen: port(), targets: vec![target(["a1", "a2", "a3"]), target(["b1", "b2", "b3"])], ..config }
}

/// How both are, once that is as wanted.
async fn both(to: &Connection, what: &str, is: impl Fn(&[RaidState]) -> bool) -> Vec<RaidState> {
    let began = Instant::now();
    loop {
        let mut states = Vec::new();
        for target in TARGETS {
            states.push(raid_of(to, target, RaidOrder::Show).await.unwrap());
        }
        if is(&states) {
            return states;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: {states:?}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn good(state: &RaidState) -> bool {
    state.members.iter().all(|member| member.state == "good")
}

/// Who has a spare.
fn owners(states: &[RaidState], spare: &DriveLocation) -> Vec<usize> {
    let spare = Some(spare.to_string());
    let has = |state: &RaidState| state.members.iter().any(|member| member.drive == spare && member.state == "good");
    (0..states.len()).filter(|at| has(&states[*at])).collect()
}

async fn operator(cluster: &Cluster, storage: &Storage) -> Connection {
    let to = cluster.connect_as(storage, Role::Cli).await;
    for target in TARGETS {
        raid_of(&to, target, RaidOrder::Rate { bytes_per_s: Some(0) }).await.unwrap();
    }
    to
}

/// Both lose a drive at the same moment; gives which one the spare went to.
fn lose_two(cluster: &Cluster, config: &StorageConfig, spare: &DriveLocation) -> usize {
    let storage = cluster.storage(config.clone());
    let winner = client(async {
        let to = cluster.connect(&storage).await;
        write(&to, file(0), 0, &content(0, 50_000)).await;
        sync(&to, file(0)).await;
        let cli = operator(cluster, &storage).await;
        let states = both(&cli, "made", |states| states.iter().all(good)).await;
        assert!(states.iter().all(|state| state.spares == [spare.to_string()]), "both have it: {states:?}");
        empty(&drive(cluster, "a2"));
        empty(&drive(cluster, "b1"));
        let one = |states: &[RaidState]| {
            owners(states, spare).len() == 1 && states.iter().filter(|state| good(state)).count() == 1
        };
        let states = both(&cli, "one has it", one).await;
        // What the other one goes on wanting.
        tokio::time::sleep(Duration::from_millis(2500)).await; // sleeps: two looks for spares must not find it
        let later = both(&cli, "one has it", |_| true).await;
        let winner = owners(&states, spare);
        assert_eq!((winner.len(), &owners(&later, spare)), (1, &winner), "{later:?}");
        assert!(later.iter().all(|state| state.spares.is_empty()), "nobody can take it now: {later:?}");
        winner[0]
    });
    storage.stop().unwrap();
    winner
}

#[test]
fn two_drives_die_at_once_and_one_set_gets_the_spare() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let spare = drive(&cluster, "spare");
    std::fs::create_dir(&spare).unwrap();
    let spare = DriveLocation::from(spare);
    let mut config = config(&cluster, std::slice::from_ref(&spare));
    let winner = lose_two(&cluster, &config, &spare);
    // Whose it is lies on it: the service does not remember, and asks in another order.
    for round in 0..2 {
        config.targets.reverse();
        let storage = cluster.storage(config.clone());
        client(async {
            let cli = operator(&cluster, &storage).await;
            let what = format!("started again, {round}");
            let states = both(&cli, &what, |states| good(&states[winner])).await;
            assert_eq!(owners(&states, &spare), [winner], "{what}");
            assert!(!good(&states[1 - winner]) && states.iter().all(|state| state.spares.is_empty()), "{states:?}");
        });
        storage.stop().unwrap();
    }
    // The other one gets a second spare, of which it had begun to make a drive before the power went.
    let second = drive(&cluster, "second");
    let loser = drive(&cluster, if winner == 0 { "b2" } else { "a1" });
    std::fs::create_dir(&second).unwrap();
    let set = nyala_drives::Drive::open(&loser, false).unwrap().superblock().unwrap().unwrap().set;
    drop(nyala_drives::take_drive(&second, set).unwrap());
    let second = DriveLocation::from(second);
    config.targets.iter_mut().for_each(|target| target.set.as_mut().unwrap().spares.push(second.clone()));
    let storage = cluster.storage(config.clone());
    client(async {
        let cli = operator(&cluster, &storage).await;
        let states = both(&cli, "both are good", |states| states.iter().all(good)).await;
        assert_eq!((owners(&states, &spare), owners(&states, &second)), (vec![winner], vec![1 - winner]), "{states:?}");
    });
    storage.stop().unwrap();
}

#[test]
fn a_set_on_drives_of_its_own_host_takes_a_spare_that_another_one_lends() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let mut lender = Lender::new(&cluster, 0);
    let spare = lender.location();
    let config = config(&cluster, std::slice::from_ref(&spare));
    let winner = lose_two(&cluster, &config, &spare);
    // Its host is away when the service starts, and comes back.
    lender.stop();
    let storage = cluster.storage(config.clone());
    client(async {
        let cli = operator(&cluster, &storage).await;
        let states = both(&cli, "without the host", |_| true).await;
        assert!(states.iter().all(|state| state.members.iter().any(|member| member.state == "missing")), "{states:?}");
        lender.start();
        let states = both(&cli, "the host is back", |states| good(&states[winner])).await;
        assert_eq!(owners(&states, &spare), [winner], "{states:?}");
        assert!(!good(&states[1 - winner]), "{states:?}");
    });
    storage.stop().unwrap();
    lender.stop();
}

#[test]
fn what_is_modified_stays_and_spares_are_given_and_taken_away() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let config = config(&cluster, &[]);
    let spare = drive(&cluster, "spare");
    std::fs::create_dir(&spare).unwrap();
    let spare = spare.display().to_string();
    let none = || RaidOrder::Modify {
        bytes_per_s: None,
        errors: None,
        within_ms: None,
        add_spares: vec![],
        remove_spares: vec![],
    };
    let spares = |add: &[&str], remove: &[&str]| {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        RaidOrder::Modify {
            bytes_per_s: None,
            errors: None,
            within_ms: None,
            add_spares: named(add),
            remove_spares: named(remove),
        }
    };
    let storage = cluster.storage(config.clone());
    client(async {
        let to = cluster.connect_as(&storage, Role::Cli).await;
        let ask = async |order| raid_of(&to, TARGETS[0], order).await;
        let before = ask(none()).await.unwrap().options.unwrap();
        assert_eq!((before.bytes_per_s, before.errors, before.within_ms), (None, 100, 3_600_000));
        let order = RaidOrder::Modify {
            bytes_per_s: Some(5 << 20),
            errors: Some(7),
            within_ms: None,
            add_spares: vec![],
            remove_spares: vec![],
        };
        let state = ask(order).await.unwrap();
        assert_eq!((state.rate, state.options.unwrap().errors), (5 << 20, 7));
        for (order, word) in [
            (spares(&[], &[&spare]), "is no spare"),
            (spares(&[&drive(&cluster, "a1").display().to_string()], &[]), "is a drive of the set"),
            (spares(&["net://127.0.0.1:1/d"], &[]), "of another host"),
            (
                RaidOrder::Modify {
                    bytes_per_s: None,
                    errors: Some(0),
                    within_ms: None,
                    add_spares: vec![spare.clone()],
                    remove_spares: vec![],
                },
                "no limit",
            ),
        ] {
            let refused = ask(order).await.unwrap_err();
            assert!(refused.message.contains(word), "{refused:?}");
        }
        assert_eq!(ask(spares(&[&spare], &[])).await.unwrap().spares, std::slice::from_ref(&spare));
        assert!(ask(spares(&[], &[&spare])).await.unwrap().spares.is_empty());
        ask(spares(&[&spare], &[])).await.unwrap();
        empty(&drive(&cluster, "a3"));
        let location: DriveLocation = spare.parse().unwrap();
        let states = both(&to, "the spare is taken", |states| owners(states, &location) == [0]).await;
        assert!(states.iter().all(good), "{states:?}");
    });
    storage.stop().unwrap();
    // The settings follow.
    let mut config = config;
    config.targets[0].set.as_mut().unwrap().drives[2] = spare.parse().unwrap();
    let storage = cluster.storage(config);
    client(async {
        let to = cluster.connect_as(&storage, Role::Cli).await;
        let state = raid_of(&to, TARGETS[0], RaidOrder::Show).await.unwrap();
        let options = state.options.clone().unwrap();
        assert_eq!((state.rate, options.bytes_per_s, options.errors), (5 << 20, Some(5 << 20), 7), "{state:?}");
        let auto = RaidOrder::Modify {
            bytes_per_s: Some(u64::MAX),
            errors: None,
            within_ms: Some(60_000),
            add_spares: vec![],
            remove_spares: vec![],
        };
        let options = raid_of(&to, TARGETS[0], auto).await.unwrap().options.unwrap();
        assert_eq!((options.bytes_per_s, options.errors, options.within_ms), (None, 7, 60_000));
    });
    storage.stop().unwrap();
}
