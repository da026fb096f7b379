// SPDX-License-Identifier: Apache-2.0

//! `beegfs-setup-mgmtd|meta|storage|client`: the set-up of Nyala (`crate::setup`) with the old letters, done without asking, as those did.
//!
//! A file named by `-c` that exists is translated; one in a directory `NAME.d` stands for the instance NAME.

use super::config_file::ConfigFile;
use super::letters::{Letters, help};
use super::notice::notice;
use crate::config::TargetArg;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::print;
use crate::setup::args::{ClientSetup, CommonSetup, MetaSetup, MgmtdSetup, ServiceSetup, StorageSetup};
use crate::setup::{self, Plan, Step};
use std::path::{Path, PathBuf};

/// Runs one of them.
pub fn run(name: &str, args: &[String]) -> Outcome {
    let role = name.trim_start_matches("beegfs-setup-").to_owned();
    let letters = Letters::of(args)?;
    if args.is_empty() || letters.0.contains_key(&'h') {
        return print(&help(&role));
    }
    let service = service(&role, &letters)?;
    let plan = match role.as_str() {
        "mgmtd" => {
            if letters.0.contains_key(&'S') {
                notice("-S: management nodes have no names of their own; it was left out");
            }
            setup::mgmtd(&MgmtdSetup { dir: Some(letters.need('p', "path")?.into()), service, ..Default::default() })
        }
        "meta" => setup::meta(&MetaSetup {
            mgmt: letters.hosts()?,
            dir: Some(letters.need('p', "path")?.into()),
            alias: letters.0.get(&'S').cloned(),
            service,
            ..Default::default()
        }),
        "storage" => setup::storage(&StorageSetup {
            mgmt: letters.hosts()?,
            targets: vec![target(&letters)?],
            alias: letters.0.get(&'S').cloned(),
            service,
            ..Default::default()
        }),
        _ => setup::client(&ClientSetup {
            mgmt: letters.hosts()?,
            options: "_netdev".into(),
            common: service.common,
            ..Default::default()
        }),
    }?;
    if let Some(id) = letters.0.get(&'s') {
        notice(&format!("-s {id}: management gives nodes their numeric IDs; see beegfs-ctl --listnodes"));
    }
    carry_out(&letters, &plan)
}

fn target(letters: &Letters) -> Result<TargetArg, Failure> {
    let dir = PathBuf::from(letters.need('p', "path")?);
    let read = |text: &String| {
        let wrong = || Failure::usage(format!("Invalid value of -i: {text:?}; target IDs are numbers from 1 to 65535"));
        text.parse().ok().filter(|id: &nyala_wire::TargetId| id.0 > 0).ok_or_else(wrong)
    };
    if letters.0.get(&'P').is_some_and(|pool| pool != "1") {
        notice("-P: targets register with the default pool");
    }
    Ok(TargetArg { dir, id: letters.0.get(&'i').map(read).transpose()?, ..TargetArg::default() })
}

/// What the old configuration file says, and which instance it is of.
fn service(role: &str, letters: &Letters) -> Result<ServiceSetup, Failure> {
    let mut service = ServiceSetup { common: CommonSetup { yes: true, ..Default::default() }, ..Default::default() };
    let default = || Some(PathBuf::from(format!("/etc/beegfs/beegfs-{role}.conf"))).filter(|file| file.exists());
    if let Some(file) = letters.path('c').or_else(default) {
        service.instance = instance(&file);
        if file.exists() {
            let old = ConfigFile::read(&file)?;
            let new = old.translate(role);
            new.notices.iter().for_each(|text| notice(text));
            service.interfaces = old.interfaces()?;
            // What the letters say wins.
            let said = |key: &str| {
                (key == "mgmt" && letters.0.contains_key(&'m')) || (key == "dir" && letters.0.contains_key(&'p'))
            };
            service.common.set = new.keys.into_iter().filter(|(key, _)| !said(key)).collect();
        }
    }
    let listens = service.common.set.iter().any(|(key, _)| key == "listen");
    if let Some(port) = setup::other_port(role, service.instance.as_deref()).filter(|_| !listens) {
        notice(&format!("another service of this host has the default port; this one gets port {port}"));
        service.port = Some(port);
    }
    Ok(service)
}

/// `/etc/beegfs/inst1.d/beegfs-meta.conf` is of the instance `inst1`.
fn instance(file: &Path) -> Option<String> {
    let dir = file.parent()?.file_name()?.to_str()?;
    let name = dir.strip_suffix(".d")?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| name.to_owned()).filter(|name| !name.is_empty())
}

fn carry_out(letters: &Letters, plan: &Plan) -> Outcome {
    plan.notes.iter().for_each(|note| notice(note));
    if let Some(path) = letters.0.get(&'p') {
        print(&format!("Preparing storage directory: {path}\n"))?;
    }
    for step in &plan.steps {
        print(&step_text(step))?;
        step.perform()?;
    }
    print("All done.\n")?;
    Ok(Exit::Ok)
}

fn step_text(step: &Step) -> String {
    match step {
        Step::Write { path, shown, .. } => {
            let line = |line: &String| {
                let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
                match key {
                    "mgmt" => format!(" * Setting management host: {}\n", value.trim_matches(['[', ']', '"'])),
                    "dir" => " * Setting storage directory in config file...\n".to_owned(),
                    "alias" => format!(" * Setting string ID: {}\n", value.trim_matches('"')),
                    key if key.starts_with("[[targets]]") => {
                        " * Appending to target directory list in config file...\n".to_owned()
                    }
                    key => format!(" * Setting {key} in config file...\n"),
                }
            };
            format!("Updating config file: {}\n{}", path.display(), shown.iter().map(line).collect::<String>())
        }
        Step::MakeDir { path, .. } => format!(" * Creating directory: {}\n", path.display()),
        other => format!(" * {other}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(line: &str) -> Result<Letters, Failure> {
        Letters::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn letters_have_values_beside_or_behind_them() {
        let read = letters("-p /mnt/target211/beegfs_storage -s21 -S stor1-inst1 -i 211 -m 192.168.5.11").unwrap();
        assert_eq!((read.0[&'p'].as_str(), read.0[&'s'].as_str()), ("/mnt/target211/beegfs_storage", "21"));
        assert_eq!(target(&read).unwrap().id, Some(nyala_wire::TargetId(211)));
        for bad in ["-q", "path", "-p", "--path", "-f1"] {
            assert!(letters(bad).is_err(), "{bad}");
        }
        let paper = letters("-p /mnt/myraid1/beegfs_storage -s Node_Id -i Storage_target_Id -m masterbgfs").unwrap();
        assert!(target(&paper).unwrap_err().message.contains("Storage_target_Id"));
    }

    #[test]
    fn instances_are_named_by_their_directory() {
        let of = |file: &str| instance(Path::new(file));
        assert_eq!(of("/etc/beegfs/inst1.d/beegfs-meta.conf").as_deref(), Some("inst1"));
        assert_eq!((of("/etc/beegfs/beegfs-meta.conf"), of("x.conf"), of("/a/.d/x")), (None, None, None));
    }

    #[test]
    fn steps_in_the_old_words() {
        let shown = vec![
            "dir = \"/d\"".into(),
            "mgmt = [\"h\"]".into(),
            "[[targets]] dir = \"/t\"".into(),
            "secret = \"/s\"".into(),
        ];
        let write =
            Step::Write { path: "/etc/nyala/x.toml".into(), text: String::new(), mode: 0o644, shown, replaces: false };
        let want = "Updating config file: /etc/nyala/x.toml\n * Setting storage directory in config file...\n * Setting management host: h\n \
                    * Appending to target directory list in config file...\n * Setting secret in config file...\n";
        assert_eq!(step_text(&write), want);
    }
}
