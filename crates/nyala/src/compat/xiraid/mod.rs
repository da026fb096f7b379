// SPDX-License-Identifier: Apache-2.0

//! The commands of xiRAID, `xicli raid …` and the older `xiraid …`, on drive sets (`nyala raid`). A set goes by the alias of its storage target, and a block device
//! stands for the directory where it is mounted.
//!
//! **Failure model.** As of the commands that do the work: what is asked for is done at once, and refused whole where a part of it cannot be.

mod boxed;
mod create;
mod destroy;
mod device;
mod modify;
mod named;
mod options;
mod pool;
mod pool_table;
mod pools;
mod replace;
mod show;

use super::notice::notice;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::print;
use options::Options;

const HELP: &str = "USAGE: xicli raid <create|show|modify|replace|destroy|init|recon> …, or xiraid <create|show|modify|…> …\n\n\
    raid create -n <name> -l <level> -d <devices> [-ss <KiB>] [-gs <drives of a group>] [-sc <drives that may be lost>]\n\
    raid show [-n <name>]\n\
    raid modify -n <name> [-rp <percent>]\n\
    raid replace -n <name> -no <number> -d <device>\n\
    raid destroy -n <name> -d <devices>\n\
    pool create|add|remove -n <pool> -d <devices>, pool delete|show [-n <pool>]; raid create|modify … -sp <pool>\n\
    license show|update: nothing to do\n\n\
    They do what nyala raid does. <name>: alias or number of a storage target. <devices>: mounted block devices, their directories, or net://HOST:PORT/NAME.\n";

/// Verbs of `raid` that Nyala has elsewhere, or not.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "import",
        "nothing: a set is found by its drives when its storage service starts; nyala raid start, where some never come back",
    ),
    ("restore", "nothing: a set is found by its drives when its storage service starts"),
    ("unload", "nothing: a set rests when its storage service is stopped"),
    ("resize", "a further storage target: a set does not grow"),
    ("restripe", "a further storage target: a set does not grow"),
];

/// Runs `xiraid` or `xicli`.
pub fn run(name: &str, args: &[String]) -> Outcome {
    let mut line = Options::of(args);
    if line.has("help") || args.iter().any(|arg| arg == "-h") || args.is_empty() {
        return print(HELP);
    }
    let words: Vec<String> = line.verbs.clone();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    line.verbs.clear();
    let told = |error: Failure| Failure { message: format!("{}\nHelp: {name} --help", error.message), ..error };
    match words.as_slice() {
        ["raid", rest @ ..] => raid(rest, &line),
        ["license", ..] => {
            notice("license: none is needed");
            Ok(Exit::Ok)
        }
        ["pool", rest @ ..] => pool::run(rest, &line),
        ["drive", ..] => Err(Failure::usage("Drives are directories of this host; nyala raid show says how they are")),
        ["settings" | "config" | "log" | "mail" | "update_notification", ..] => Err(Failure::usage(format!(
            "Nyala has no {}; its settings are those of the storage service (/etc/nyala/storage.toml)",
            words[0]
        ))),
        rest if name == "xiraid" => raid(rest, &line),
        _ => Err(Failure::usage(format!("Unknown or missing command: {}", words.join(" ")))),
    }
    .map_err(told)
}

fn raid(words: &[&str], line: &Options) -> Outcome {
    match words {
        ["show"] => show::run(line),
        ["create"] => create::run(line),
        ["modify"] => modify::run(line),
        ["replace"] => replace::run(line),
        ["destroy"] => destroy::run(line),
        ["init", "start" | "stop"] | ["init"] => {
            notice("init: a set needs no initialization; it can be used at once");
            Ok(Exit::Ok)
        }
        ["recon", "start"] => {
            notice("recon start: rebuilds begin by themselves; nyala raid rebuild waits for one");
            Ok(Exit::Ok)
        }
        ["recon", "stop"] => {
            Err(Failure::usage("A rebuild does not stop; make it slow: nyala raid rebuild TARGET --rate 1m"))
        }
        [verb, ..] => {
            let known = ELSEWHERE.iter().find(|(known, _)| known == verb);
            Err(Failure::usage(match known {
                Some((verb, here)) => format!("Nyala has no raid {verb}; use: {here}"),
                None => format!("Unknown or missing command: raid {}", words.join(" ")),
            }))
        }
        [] => Err(Failure::usage("Missing command: create, show, modify, replace, destroy, init or recon")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, line: &str) -> Outcome {
        run(name, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn both_programs_know_the_same() {
        assert_eq!(said("xiraid", "license --update /root/license.txt"), Ok(Exit::Ok));
        assert_eq!(said("xicli", "raid init start -n era1"), Ok(Exit::Ok));
        assert_eq!(said("xiraid", "modify -n era1 -me 1 -mw 9000 -mm 9000 -se 1"), Ok(Exit::Ok));
        assert_eq!(said("xicli", "raid modify -n era1 -me 1"), Ok(Exit::Ok));
        for (name, line, word) in [
            ("xicli", "modify -n era1 -me 1", "Unknown or missing command: modify"),
            ("xiraid", "crate -n era1", "Unknown or missing command: raid crate"),
            ("xicli", "raid destroy -a", "one by one"),
            ("xicli", "raid resize -n era1", "does not grow"),
            ("xicli", "pool", "create, add"),
            ("xicli", "pool create -n p", "--drives"),
            ("xicli", "raid recon stop -n era1", "--rate"),
            ("xicli", "raid", "create, show"),
            ("xicli", "settings faulty-count modify", "no settings"),
        ] {
            assert!(said(name, line).unwrap_err().message.contains(word), "{line}");
        }
    }
}
