// SPDX-License-Identifier: Apache-2.0

//! What the Ansible role has the program do: its command lines are read by the real parser, `nyala setup` plans what they ask for with the role's
//! defaults, and the settings files that come of it are read as the services read them.

use super::expressions::expanded;
use super::parse;
use crate::cli::Command;
use crate::config;
use crate::setup::args::SetupCommand;
use crate::setup::{Plan, client, meta, mgmtd, storage};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const MAIN: &str = include_str!("../../../../packaging/ansible/roles/nyala/tasks/main.yml");
const SERVICE: &str = include_str!("../../../../packaging/ansible/roles/nyala/tasks/service.yml");
const MIRROR: &str = include_str!("../../../../packaging/ansible/roles/nyala/tasks/mirror.yml");
const DEFAULTS: &str = include_str!("../../../../packaging/ansible/roles/nyala/defaults/main.yml");
const INVENTORY: &str = include_str!("../../../../packaging/ansible/inventory.example.yml");
const PAGE: &str = include_str!("../../../../docs/ansible.md");

/// Values of a key, with the lines of a folded one joined.
fn values(text: &str, key: &str) -> Vec<String> {
    let key = format!("{key}:");
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let found = lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with(&key));
    let value = |(at, line): (usize, &&str)| {
        let value = line.trim_start().strip_prefix(&key).unwrap().trim();
        let below = lines[at + 1..].iter().take_while(|next| indent(next) > indent(line));
        if value == ">-" { below.map(|next| next.trim()).collect::<Vec<_>>().join(" ") } else { value.to_owned() }
    };
    found.map(value).collect()
}

fn value(text: &str, key: &str) -> String {
    let found = values(text, key);
    assert_eq!(found.len(), 1, "{key}: {found:?}");
    found.into_iter().next().unwrap()
}

/// Further settings by role, as the page and the example have them.
fn settings() -> Value {
    let row = PAGE.lines().find(|line| line.starts_with("| `nyala_settings`")).unwrap();
    let json = row.split('`').find(|part| part.starts_with('{')).unwrap();
    let mut settings: Value = serde_json::from_str(json).unwrap();
    for (role, of_role) in settings.as_object_mut().unwrap() {
        let of_example = INVENTORY.lines().find_map(|line| line.trim().strip_prefix(&format!("{role}: {{ ")));
        if let Some((key, value)) = of_example.and_then(|text| text.trim_end_matches(" }").split_once(": ")) {
            of_role[key] = value.into();
        }
    }
    settings
}

/// The variables of the role, for a host whose directories are below `root`, with everything that may be asked for.
fn variables(role: &str, root: &Path) -> Value {
    let at = |path: &str| root.join(path).display().to_string();
    json!({
        "nyala_role": role,
        "nyala_mgmt": "127.0.0.1,127.0.0.2,127.0.0.3",
        "groups": { "nyala_mgmtd": ["node01"] },
        "hostvars": { "node01": { "nyala_address": "127.0.0.1" } },
        "nyala_interfaces": ["lo"],
        "nyala_start": true,
        "nyala_encrypt": true,
        "nyala_spare": true,
        "nyala_targets": [at("t1"), format!("{},id=102,alias=fast", at("t2"))],
        "nyala_meta_dir": at("meta"),
        "nyala_mount": at("mount"),
        "nyala_mount_options": value(DEFAULTS, "nyala_mount_options"),
        "nyala_settings": settings(),
        "nyala_mirror_flags": ["--members", "2", "--ignore-space"],
    })
}

/// The command lines of `nyala setup` of all tasks, with everything that may be asked for.
fn setups(root: &Path) -> Vec<Vec<String>> {
    let tasks = MAIN.split("- name: ").filter(|task| task.contains("nyala_role: "));
    let line = |task: &str| {
        let mut variables = variables(&value(task, "nyala_role"), root);
        variables["nyala_flags"] = expanded(&value(task, "nyala_flags"), &variables).into();
        for name in ["nyala_common", "nyala_set"] {
            variables[name] = expanded(&value(SERVICE, name), &variables).into();
        }
        expanded(&value(SERVICE, "argv"), &variables)
    };
    tasks.map(line).collect()
}

/// The same without systemd, with every file below `root`.
fn planned(line: &[String], root: &Path) -> Plan {
    let role = &line[2];
    let mut line: Vec<String> = line.iter().filter(|word| *word != "--start").cloned().collect();
    let mut add = |flag: &str, name: &str| line.extend([flag.to_owned(), root.join(name).display().to_string()]);
    add("--config", &format!("{role}.toml"));
    add("--secret", "secret");
    if ["mgmtd", "storage"].contains(&role.as_str()) {
        add("--dir", role);
    }
    let Command::Setup(command) = parse(&line).command else { panic!("{line:?}") };
    let plan = match &command {
        SetupCommand::Mgmtd(args) => mgmtd(args),
        SetupCommand::Meta(args) => meta(args),
        SetupCommand::Storage(args) => storage(args),
        SetupCommand::Client(args) => client(args),
        other => panic!("{other:?}"),
    };
    plan.unwrap_or_else(|failure| panic!("{line:?}: {failure}"))
}

#[test]
fn the_role_sets_up_what_services_can_read() {
    let root = tempfile::tempdir().unwrap();
    let lines = setups(root.path());
    let roles: Vec<&str> = lines.iter().map(|line| line[2].as_str()).collect();
    assert_eq!(roles, ["mgmtd", "mgmtd", "meta", "storage", "client"]);
    for line in &lines {
        let Command::Setup(_) = parse(line).command else { panic!("{line:?}") };
        assert!(line.iter().any(|word| word == "--start") && line.ends_with(&["json".to_owned()]), "{line:?}");
        // A line of /etc/fstab is of this machine, and not this test's to add.
        let mine = |line: &str| !line.contains("/etc/fstab") && !line.contains("/sbin/");
        let plan = planned(line, root.path());
        let said = serde_json::to_value(&plan).unwrap();
        assert!(said["steps"].is_array(), "the role looks whether there are any: {said}");
        plan.steps.iter().filter(|step| mine(&step.to_string())).for_each(|step| step.perform().unwrap());
        let again = planned(line, root.path());
        let left: Vec<String> = again.steps.iter().map(ToString::to_string).filter(|step| mine(step)).collect();
        assert!(left.is_empty(), "a second run changes nothing: {left:?}");
        let file = root.path().join(format!("{}.toml", line[2]));
        assert!(config::check(&file, None).is_ok(), "{file:?}");
    }
    let text = std::fs::read_to_string(root.path().join("storage.toml")).unwrap();
    assert!(text.contains("memory-limit = \"2g\"") && text.contains("alias = \"fast\""), "{text}");
}

#[test]
fn the_role_asks_and_mirrors_with_commands_that_there_are() {
    let root = Path::new("/");
    let lines = values(MIRROR, "argv");
    assert_eq!(lines.len(), 3);
    for line in lines {
        for kind in ["storage", "meta"] {
            let mut variables = variables("", root);
            variables["item"] = kind.into();
            let command = parse(&expanded(&line, &variables)).command;
            assert!(matches!(command, Command::Target(_) | Command::Mirror(_)), "{line}");
        }
    }
    assert_eq!(values(MIRROR, "loop"), ["[storage, meta]"]);
}

/// Names of variables of the role in a text.
fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("nyala_")).collect()
}

#[test]
fn variables_of_the_page_and_of_the_example_are_those_of_the_role() {
    let defaults: BTreeSet<&str> =
        DEFAULTS.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    let defaults: BTreeSet<&str> = defaults.into_iter().filter(|name| name.starts_with("nyala_")).collect();
    let groups = BTreeSet::from(["nyala_mgmtd", "nyala_meta", "nyala_storage", "nyala_client"]);
    assert!(names(MAIN).is_superset(&groups));
    // The package is a file's name on the page, and not of a version.
    let page: BTreeSet<&str> = names(PAGE).into_iter().filter(|name| *name != "nyala_").collect();
    for (name, found) in [("page", page), ("example", names(INVENTORY))] {
        let strange: Vec<_> =
            found.iter().filter(|word| !defaults.contains(**word) && !groups.contains(**word)).collect();
        assert!(strange.is_empty(), "{name}: {strange:?}");
    }
    let unsaid: Vec<_> = defaults.difference(&names(PAGE)).copied().collect();
    assert!(unsaid.is_empty(), "docs/ansible.md does not name {unsaid:?}");
}
