// SPDX-License-Identifier: Apache-2.0

//! Planning the set-up of a service: its settings, directories, secret and unit.

use super::args::{MetaSetup, MgmtdSetup, StorageSetup};
use super::directories::{Found, file_system_note, is_not_away, of_kind, of_mgmtd};
use super::plan::Plan;
use super::settings_file::settings_file;
use super::site::Site;
use super::step::Step;
use super::values::{list, text};
use crate::config::{ConfigRole, MetaSettings, MgmtdSettings, StorageSettings};
use crate::exit::Failure;
use nyala_store::own_dir::Kind;
use nyala_transport::Secret;
use std::path::Path;
use toml::Value;

/// Plans a management service.
pub fn mgmtd(args: &MgmtdSetup) -> Result<Plan, Failure> {
    let site = Site::new("mgmtd", &args.service);
    let mut keys = site.keys(args.dir.as_deref(), &args.service)?;
    keys.extend(args.join.as_ref().map(|hosts| list("join", hosts)));
    keys.extend(args.standby.then(|| ("standby".to_owned(), Value::Boolean(true))));
    let file = settings_file::<MgmtdSettings>(&site.config, keys, &args.service.common, &[])?;
    let config = file.settings.clone().resolve().map_err(|error| error.context(site.config.display()))?;
    let further = config.standby || !config.join.is_empty();
    let mut plan = Plan::default();
    let found = of_mgmtd(&config.dir)?;
    // Where this service has been set up before, its cluster has a secret: a second one would be another cluster's.
    let begins = !further && file.old.is_none() && matches!(found, Found::Missing | Found::Empty);
    secret(&mut plan, &config.secret_file, begins)?;
    let before = file.old.and_then(|old| old.resolve().ok()).map(|old| old.dir);
    is_not_away(&config.dir, found, before.as_deref(), &site.config)?;
    directory(&mut plan, &config.dir, found)?;
    plan.steps.extend(file.step);
    site.finish(&mut plan, &args.service, ConfigRole::Mgmtd, &file.text, &config.secret_file)?;
    if !further {
        plan.next
            .push(format!("copy {} to every other host of the cluster, with mode 0600", config.secret_file.display()));
    } else if config.standby {
        plan.next.push("nyala mgmt add THIS-HOST, where commands are given".into());
    }
    Ok(plan)
}

/// Plans a metadata service.
pub fn meta(args: &MetaSetup) -> Result<Plan, Failure> {
    let site = Site::new("meta", &args.service);
    let mut keys = site.keys(args.dir.as_deref(), &args.service)?;
    keys.extend(args.mgmt.as_ref().map(|hosts| list("mgmt", hosts)));
    keys.extend(args.alias.as_ref().map(|alias| text("alias", alias)));
    keys.extend(args.spare.then(|| ("spare".to_owned(), Value::Boolean(true))));
    let file = settings_file::<MetaSettings>(&site.config, keys, &args.service.common, &[])?;
    let config = file.settings.clone().resolve().map_err(|error| error.context(site.config.display()))?;
    let mut plan = Plan::default();
    secret(&mut plan, &config.secret_file, false)?;
    let before = file.old.and_then(|old| old.resolve().ok()).map(|old| old.dir);
    let found = of_kind(&config.dir, Kind::MetaTarget)?;
    is_not_away(&config.dir, found, before.as_deref(), &site.config)?;
    directory(&mut plan, &config.dir, found)?;
    plan.steps.extend(file.step);
    site.finish(&mut plan, &args.service, ConfigRole::Meta, &file.text, &config.secret_file)?;
    Ok(plan)
}

/// Plans a storage service, or more targets of it.
pub fn storage(args: &StorageSetup) -> Result<Plan, Failure> {
    let site = Site::new("storage", &args.service);
    let mut keys = site.keys(args.dir.as_deref(), &args.service)?;
    keys.extend(args.mgmt.as_ref().map(|hosts| list("mgmt", hosts)));
    keys.extend(args.alias.as_ref().map(|alias| text("alias", alias)));
    let file = settings_file::<StorageSettings>(&site.config, keys, &args.service.common, &args.targets)?;
    let config = file.settings.clone().resolve().map_err(|error| error.context(site.config.display()))?;
    let mut plan = Plan::default();
    secret(&mut plan, &config.secret_file, false)?;
    let node = of_kind(&config.dir, Kind::StorageNode)?;
    let before = file.old.and_then(|old| old.resolve().ok()).map(|old| old.dir);
    is_not_away(&config.dir, node, before.as_deref(), &site.config)?;
    directory(&mut plan, &config.dir, node)?;
    let mut ids: Vec<_> = config.targets.iter().filter_map(|target| target.id).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage(format!(
            "two targets are to have the id {}; ids are unique in a cluster",
            twice[0]
        )));
    }
    // Those on drive sets are in the file already, and not this command's to look at.
    for target in config.targets.iter().filter(|target| target.set.is_none()) {
        let found = of_kind(&target.dir, Kind::StorageTarget)?;
        let bare = matches!(found, Found::Missing | Found::Empty);
        if !file.new.iter().any(|new| new.dir == target.dir) {
            plan.notes.extend(existing_target(&target.dir, found, node == Found::Ours { registered: true }));
            continue;
        }
        directory(&mut plan, &target.dir, found)?;
        // A service that has been there before takes an empty directory for a disk that is not mounted.
        if bare && node == (Found::Ours { registered: true }) {
            plan.steps.push(Step::MakeTarget { path: target.dir.clone() });
        }
    }
    plan.steps.extend(file.step);
    site.finish(&mut plan, &args.service, ConfigRole::Storage, &file.text, &config.secret_file)?;
    Ok(plan)
}

/// A target that the settings file has had before is never made again: where nothing is found, its data are on a disk that is not mounted.
fn existing_target(dir: &Path, found: Found, has_run: bool) -> Option<String> {
    let shown = dir.display();
    match found {
        Found::Missing => {
            Some(format!("the target {shown} is in the settings file, but not there: is its disk mounted?"))
        }
        Found::Empty if has_run => {
            Some(format!("the target {shown} is in the settings file, but empty: is its disk mounted?"))
        }
        Found::Empty | Found::Ours { .. } => None,
    }
}

/// The secret is made where a cluster begins, and wanted everywhere else.
fn secret(plan: &mut Plan, file: &Path, make: bool) -> Result<(), Failure> {
    if file.exists() || !make {
        super::client::secret_is_there(file)?;
        return Secret::load(file).map(drop).map_err(Failure::from);
    }
    plan.steps.push(Step::MakeSecret { path: file.to_owned() });
    Ok(())
}

fn directory(plan: &mut Plan, dir: &Path, found: Found) -> Result<(), Failure> {
    plan.notes.extend(file_system_note(dir)?);
    match found {
        Found::Missing => plan.steps.push(Step::MakeDir { path: dir.to_owned(), mode: 0o700 }),
        Found::Empty => {}
        Found::Ours { registered: true } => {
            plan.notes.push(format!("{} is in use by this service already, and stays as it is", dir.display()));
        }
        Found::Ours { registered: false } => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::args::{CommonSetup, ServiceSetup};
    use super::*;
    use std::path::PathBuf;

    struct TestHost {
        dir: tempfile::TempDir,
    }

    impl TestHost {
        fn new() -> TestHost {
            TestHost { dir: tempfile::tempdir().unwrap() }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn service(&self, role: &str) -> ServiceSetup {
            let common = CommonSetup {
                config: Some(self.at(&format!("{role}.toml"))),
                secret: Some(self.at("secret")),
                ..Default::default()
            };
            ServiceSetup { common, ..Default::default() }
        }

        fn storage(&self, targets: &[&str]) -> StorageSetup {
            StorageSetup {
                mgmt: Some("127.0.0.1".parse().unwrap()),
                dir: Some(self.at("node")),
                targets: targets
                    .iter()
                    .map(|target| format!("{}/{target}", self.dir.path().display()).parse().unwrap())
                    .collect(),
                service: self.service("storage"),
                ..Default::default()
            }
        }
    }

    fn perform(plan: &Plan) {
        plan.steps.iter().for_each(|step| step.perform().unwrap());
    }

    /// How many secrets it would make.
    fn count(plan: &Plan) -> usize {
        plan.steps.iter().filter(|step| matches!(step, Step::MakeSecret { .. })).count()
    }

    #[test]
    fn a_cluster_begins_with_its_secret() {
        let host = TestHost::new();
        let meta_args = MetaSetup {
            mgmt: Some("127.0.0.1".parse().unwrap()),
            dir: Some(host.at("meta")),
            alias: Some("m1".into()),
            service: host.service("meta"),
            ..Default::default()
        };
        let early = meta(&meta_args).unwrap_err();
        assert!(early.message.contains("scp") && early.message.contains("secret"), "{early}");
        let args = MgmtdSetup { dir: Some(host.at("mgmt")), service: host.service("mgmtd"), ..Default::default() };
        let plan = mgmtd(&args).unwrap();
        assert!(matches!(plan.steps[0], Step::MakeSecret { .. }), "{plan:?}");
        assert!(plan.next.iter().any(|next| next.contains("copy")), "{plan:?}");
        perform(&plan);
        assert!(mgmtd(&args).unwrap().steps.is_empty(), "the same again changes nothing");
        let plan = meta(&meta_args).unwrap();
        perform(&plan);
        assert!(meta(&meta_args).unwrap().steps.is_empty());
        assert_eq!(crate::config::check(&host.at("meta.toml"), None), Ok(ConfigRole::Meta));
        let text = std::fs::read_to_string(host.at("meta.toml")).unwrap();
        assert!(text.contains("\nalias = \"m1\"\n") && text.contains("# sync-interval = \"1s\""), "{text}");
        // A secret that was there is never made a second time: it has to come back.
        let kept = std::fs::read(host.at("secret")).unwrap();
        std::fs::remove_file(host.at("secret")).unwrap();
        assert!(mgmtd(&args).unwrap_err().message.contains("scp"), "the settings file says that it was set up");
        std::fs::rename(host.at("mgmtd.toml"), host.at("kept.toml")).unwrap();
        std::fs::write(host.at("mgmt/mgmt.toml"), "").unwrap();
        assert!(mgmtd(&args).unwrap_err().message.contains("scp"), "the directory is a management service's");
        let elsewhere = MgmtdSetup { dir: Some(host.at("mgmt2")), ..args.clone() };
        assert!(
            matches!(mgmtd(&elsewhere).unwrap().steps[0], Step::MakeSecret { .. }),
            "nothing is there: a cluster begins"
        );
        for args in [
            MgmtdSetup { standby: true, ..elsewhere.clone() },
            MgmtdSetup { join: Some("127.0.0.1".parse().unwrap()), ..elsewhere },
        ] {
            assert!(mgmtd(&args).unwrap_err().message.contains("scp"), "the cluster's is to be copied");
        }
        std::fs::write(host.at("secret"), kept).unwrap();
        std::fs::set_permissions(host.at("secret"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(count(&mgmtd(&args).unwrap()), 0, "one that exists is the one");
        let further = MgmtdSetup { standby: true, ..args };
        assert!(mgmtd(&further).unwrap().next.iter().any(|next| next.contains("mgmt add")));
    }

    #[test]
    fn a_directory_that_was_there_before_is_not_made_again() {
        let host = TestHost::new();
        let first = MgmtdSetup { dir: Some(host.at("mgmt")), service: host.service("mgmtd"), ..Default::default() };
        let second = MetaSetup {
            mgmt: Some("127.0.0.1".parse().unwrap()),
            dir: Some(host.at("meta")),
            service: host.service("meta"),
            ..Default::default()
        };
        let third = host.storage(&["t1"]);
        let plans = || [("mgmt", mgmtd(&first)), ("meta", meta(&second)), ("node", storage(&third))];
        perform(&mgmtd(&first).unwrap());
        for (_, plan) in plans() {
            perform(&plan.unwrap());
        }
        // Their disks are not mounted.
        for name in ["mgmt", "meta", "node"] {
            std::fs::rename(host.at(name), host.at(&format!("{name}.away"))).unwrap();
        }
        for (name, plan) in plans() {
            let error = plan.unwrap_err();
            let dir = host.at(name).display().to_string();
            assert_eq!(error.exit, crate::exit::Exit::Config, "{name}");
            for word in [dir.as_str(), ".toml", "is its disk mounted?", "mkdir -m 700"] {
                assert!(error.message.contains(word), "{name}: {error}");
            }
            assert!(!host.at(name).exists(), "nothing is made in its place");
        }
        // Another place than before is a new one; what is back is taken; so is what was made by hand.
        let moved = MetaSetup { dir: Some(host.at("meta2")), ..second.clone() };
        assert!(meta(&moved).unwrap().steps.iter().any(|step| matches!(step, Step::MakeDir { .. })));
        std::fs::rename(host.at("mgmt.away"), host.at("mgmt")).unwrap();
        std::fs::rename(host.at("meta.away"), host.at("meta")).unwrap();
        std::fs::create_dir(host.at("node")).unwrap();
        for (name, plan) in plans() {
            assert!(plan.unwrap().steps.is_empty(), "{name}");
        }
    }

    #[test]
    fn targets_are_added_and_refused() {
        let host = TestHost::new();
        Secret::generate(&host.at("secret")).unwrap();
        perform(&storage(&host.storage(&["t1,id=101"])).unwrap());
        let plan = storage(&host.storage(&["t1", "t2,id=102"])).unwrap();
        let made = |plan: &Plan| plan.steps.iter().filter(|step| matches!(step, Step::MakeTarget { .. })).count();
        assert_eq!((plan.steps.len(), made(&plan)), (2, 0), "a directory and a file: {plan:?}");
        perform(&plan);
        // Once the service has been there, a new target is made by us.
        let mut node =
            nyala_store::own_dir::OwnDir::open(&host.at("node"), Kind::StorageNode, nyala_wire::ClusterId([1; 16]))
                .unwrap();
        node.registered(nyala_wire::ClusterId([2; 16]), nyala_wire::TargetId(0)).unwrap();
        drop(node);
        // A disk that is not mounted: the target is there, its data are not. Neither is it made again, nor its directory.
        std::fs::remove_dir(host.at("t1")).unwrap();
        let plan = storage(&host.storage(&["t3", "t2,id=102"])).unwrap();
        let touches = |name: &str| {
            plan.steps.iter().any(
                |step| matches!(step, Step::MakeDir { path, .. } | Step::MakeTarget { path } if *path == host.at(name)),
            )
        };
        assert_eq!((made(&plan), touches("t1"), touches("t2"), touches("t3")), (1, false, false, true), "{plan:?}");
        let noted = |word: &str| plan.notes.iter().any(|note| note.contains(word));
        assert!(noted("not there") && noted("but empty"), "{:?}", plan.notes);
        let refused = |targets: &[&str]| storage(&host.storage(targets)).unwrap_err().message;
        assert!(refused(&["t1,id=7"]).contains("other words"));
        assert!(refused(&["t4,id=102"]).contains("two targets"));
        assert!(refused(&["t1/sub"]).contains("each other"));
        std::fs::create_dir_all(host.at("full/x")).unwrap();
        assert!(refused(&["full"]).contains("not empty"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_done() {
        let host = TestHost::new();
        Secret::generate(&host.at("secret")).unwrap();
        let with = |key: &str, value: Value| {
            let mut args = MetaSetup { dir: Some(host.at("m")), service: host.service("meta"), ..Default::default() };
            args.mgmt = Some("127.0.0.1".parse().unwrap());
            args.service.common.set = vec![(key.to_owned(), value)];
            meta(&args).unwrap_err().message
        };
        assert!(with("sync-intervall", Value::from("1s")).contains("sync-intervall"));
        assert!(with("sync-interval", Value::from("soon")).contains("500ms"));
        assert!(with("listen", Value::from(3)).contains("listen") || with("listen", Value::from(3)).contains("socket"));
        let none = MetaSetup { dir: Some(host.at("m")), service: host.service("meta"), ..Default::default() };
        assert!(meta(&none).unwrap_err().message.contains("--mgmt"));
        std::fs::write(host.at("meta.toml"), "dirr = 1\n").unwrap();
        assert!(meta(&none).unwrap_err().message.contains("line 1"));
        let mut started =
            MgmtdSetup { dir: Some(host.at("mgmt")), service: host.service("mgmtd"), ..Default::default() };
        started.service.common.start = true;
        assert!(mgmtd(&started).unwrap_err().message.contains("--config"));
        assert!(!host.at("m").exists() && !host.at("mgmt").exists());
    }
}
