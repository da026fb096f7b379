// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl`: one mode of it in each function, found by the first option that names one.

mod entries;
mod entry;
mod groups;
mod nodes;
mod resync;
mod targets;

use super::command_line::CommandLine;
use crate::exit::{Failure, Outcome};
use crate::output::print;

/// What a mode does.
type Mode = fn(&CommandLine) -> Outcome;

struct Known {
    name: &'static str,
    help: &'static str,
    run: Mode,
}

const MODES: [Known; 10] = [
    Known {
        name: "listnodes",
        help: "--nodetype=<mgmt|meta|storage|client> [--details]\n\nLists the registered nodes; --details: ports and addresses, in order of preference.",
        run: nodes::list,
    },
    Known {
        name: "listtargets",
        help: "[--nodetype=<meta|storage>] [--mirrorgroups] [--state]\n\nLists targets, or members of mirror groups, with their states.",
        run: targets::list,
    },
    Known {
        name: "setpattern",
        help: "[--chunksize=<size>] [--numtargets=<number>] [--pattern=<raid0|buddymirror>] [--storagepoolid=<id>] <path>\n\n\
               Sets what a directory gives to files that are made there from then on; files that exist stay as they are.\n\
               With the pattern buddymirror, --numtargets counts mirror groups.",
        run: entries::set_pattern,
    },
    Known {
        name: "getentryinfo",
        help: "[--verbose] <path>\n\nShows where an entry and its data are, and what a directory gives to new files.",
        run: entry::info,
    },
    Known {
        name: "addmirrorgroup",
        help: "--automatic --nodetype=<meta|storage> [--force] [--dryrun]\n\
               --nodetype=<meta|storage> --primary=<id> --secondary=<id> [--groupid=<id>]\n\n\
               Makes mirror groups of all targets that are in none, or one of two named ones: metadata by node, storage by target.",
        run: groups::add,
    },
    Known {
        name: "listmirrorgroups",
        help: "--nodetype=<meta|storage>\n\nLists the mirror groups.",
        run: groups::list,
    },
    Known {
        name: "mirrormd",
        help: "\n\nMetadata is mirrored from the moment when its mirror group is made; no client has to be unmounted.\n\
               Make groups with --addmirrorgroup --automatic --nodetype=meta; this mode says whether there are some.",
        run: groups::mirror_metadata,
    },
    Known {
        name: "startresync",
        help: "--nodetype=storage --targetid=<id> | --nodetype=meta --nodeid=<id> [--timestamp=0] [--restart]\n\n\
               Fills a member of a mirror group anew from the others. What it missed is resynced by itself, without this.",
        run: resync::start,
    },
    Known {
        name: "resyncstats",
        help: "--nodetype=storage --targetid=<id> | --nodetype=meta --nodeid=<id> | --nodetype=<meta|storage> --mirrorgroupid=<id>\n\nShows how far the resync of a member is.",
        run: resync::stats,
    },
    Known { name: "listtarget", help: "see --listtargets", run: targets::list },
];

/// Modes that Nyala has under a command of its own, or not.
const ELSEWHERE: [(&str, &str); 16] = [
    ("removenode", "nyala node remove"),
    ("removetarget", "nyala target remove"),
    ("setstate", "nyala target set-state"),
    ("storagebench", "nyala bench data"),
    ("serverstats", "nyala stats server --watch"),
    ("clientstats", "nyala stats client --watch"),
    ("userstats", "nyala stats user --watch"),
    ("reverselookup", "find MOUNT -inum NUMBER"),
    ("disposeunused", "nyala fsck: unused files go by themselves"),
    ("refreshentryinfo", "nothing: attributes are always those of the servers"),
    ("migrate", "nyala entry migrate"),
    ("find", "nyala entry find"),
    ("listquota", "nothing yet: there are no quotas"),
    ("getquota", "nothing yet: there are no quotas"),
    ("setquota", "nothing yet: there are no quotas"),
    ("liststoragepools", "nyala target list"),
];

/// Runs the mode that the command line names.
pub fn run(line: &CommandLine) -> Outcome {
    let named = line.names().find_map(|name| MODES.iter().find(|mode| mode.name == name));
    if let Some(mode) = named {
        if line.has("help") {
            return print(&format!("MODE: --{}\n\nUSAGE: beegfs-ctl --{} {}\n", mode.name, mode.name, mode.help));
        }
        let told = |error: Failure| Failure {
            message: format!("{}\n[Mode: {}] Help: beegfs-ctl --{} --help", error.message, mode.name, mode.name),
            ..error
        };
        return (mode.run)(line).map_err(told);
    }
    if let Some((name, here)) = ELSEWHERE.iter().find(|(name, _)| line.has(name)) {
        return Err(Failure::usage(format!("Nyala has no mode --{name}; use: {here}")));
    }
    let list: String =
        MODES.iter().filter(|mode| mode.name != "listtarget").map(|mode| format!("  --{}\n", mode.name)).collect();
    if line.has("help") || (line.names().next().is_none() && line.operands.is_empty()) {
        return print(&format!("USAGE: beegfs-ctl --<mode> --help\n\nMODES:\n{list}"));
    }
    let said: Vec<String> = line.names().map(|name| format!("--{name}")).chain(line.operands.iter().cloned()).collect();
    Err(Failure::usage(format!("Unknown or missing mode: {}\nModes:\n{}", said.join(" "), list.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(line: &str) -> String {
        let line = CommandLine::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        run(&line).unwrap_err().message
    }

    #[test]
    fn wrong_modes_and_arguments_are_named() {
        assert!(
            says("--listnods").contains("Unknown or missing mode: --listnods")
                && says("--listnods").contains("--listnodes")
        );
        assert!(says("--storagebench --alltargets").contains("nyala bench data"));
        assert!(says("--listnodes --nodetype=disk").contains("Invalid or missing node type"));
        assert!(says("--listnodes").contains("beegfs-ctl --listnodes --help"));
        assert!(says("--setpattern /mnt").contains("nothing to set"));
        assert!(says("--setpattern --numtargets=4").contains("path"));
        assert!(says("--setpattern --chunksize=1x /mnt").contains("1x"));
        assert!(says("--setpattern --pattern=raid10 /mnt").contains("raid10"));
        assert!(says("--setpattern --colour=blue /mnt").contains("Invalid argument: --colour"));
        assert!(says("--getentryinfo").contains("path"));
        assert!(says("--addmirrorgroup --nodetype=storage --primary=1").contains("--secondary"));
        assert!(says("--addmirrorgroup --nodetype=storage --primary=1 --secondary=1").contains("same"));
        assert!(says("--listmirrorgroups").contains("--nodetype"));
        assert!(says("--startresync --nodetype=storage --targetid=x").contains("--targetid"));
        assert!(says("--startresync --nodetype=storage --targetid=1 --timestamp=5").contains("timestamp"));
    }
}
