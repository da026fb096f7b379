// SPDX-License-Identifier: Apache-2.0

//! Words that a shell completes with what the cluster has.

use nyala_e2e::Cluster;
use nyala_e2e::binary;
use nyala_e2e::cluster::text;
use nyala_e2e::run::run;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What bash offers for the last of these words, by the function that `nyala completions bash` defines.
fn offered(dir: Option<&Path>, words: &[&str]) -> Vec<String> {
    let script = r#"PATH="$1:$PATH"; shift; source <(nyala completions bash)
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _clap_complete_nyala nyala "${COMP_WORDS[COMP_CWORD]}" 2>&1
        printf '%s\n' "${COMPREPLY[@]}""#;
    let program = binary::nyala().parent().unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", &text(program)]).args(words).current_dir("/").env_remove("NYALA_DIR");
    if let Some(dir) = dir {
        bash.env("NYALA_DIR", dir);
    }
    let outcome = run(&mut bash, Duration::from_secs(20));
    assert_eq!(outcome.err, "", "{}", outcome.describe());
    let out = outcome.must();
    let mut words: Vec<String> =
        out.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    words.sort();
    words
}

/// Ids, aliases, lists; and silence, soon, where the cluster is away.
pub fn complete(cluster: &Cluster) {
    let home = cluster.dir();
    let dir = Some(home.as_path());
    let all = cluster.json(&["target", "list"]);
    let id = |target: &serde_json::Value| target["id"].to_string();
    let ids: Vec<String> = all.as_array().unwrap().iter().map(id).collect();
    let targets = offered(dir, &["nyala", "target", "remove", ""]);
    assert!(ids.iter().all(|id| targets.contains(id)), "{targets:?}");
    let nodes = offered(dir, &["nyala", "node", "remove", "sto"]);
    assert_eq!(nodes, ["storage1", "storage2"]);
    let pools = offered(dir, &["nyala", "pool", "show", "de"]);
    assert_eq!(pools, ["default"]);
    let list = offered(dir, &["nyala", "entry", "find", "--targets", &format!("{},", ids[0])]);
    assert!(list.contains(&format!("{},{}", ids[0], ids[1])), "{list:?}");
    assert!(!offered(dir, &["nyala", "mirror", "check", ""]).is_empty());
    assert!(offered(dir, &["nyala", "entry", "cre"]).contains(&"create".to_owned()));
    // What is begun on a mount names its cluster.
    let mounted = ["nyala", "entry", "find", &text(&cluster.mount()), "--nodes", "storage1"];
    assert_eq!(offered(None, &mounted), ["storage1"]);
    let began = std::time::Instant::now();
    let none = offered(Some(Path::new("/nonexistent")), &["nyala", "node", "remove", "sto"]);
    assert!(none.is_empty() && began.elapsed() < Duration::from_secs(5), "{none:?}");
}
