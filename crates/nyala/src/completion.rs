// SPDX-License-Identifier: Apache-2.0

//! Completion of command lines with what the cluster has now: ids and aliases of targets and nodes, mirror groups, storage pools.
//! A shell calls this program for it, with [`VARIABLE`] in its environment (`nyala completions`).
//!
//! **Failure model.** Somebody waits at a prompt. No cluster may be named, it may be away, refuse, or hang, and so may a mount: after
//! [`ANSWER_TIMEOUT`] the rest is completed without it. Nothing is ever said of why: a prompt is no place for it.

mod names;

use crate::cluster::{ClusterArgs, Way};
use crate::exit::Failure;
use crate::role::block_on;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use names::{Kind, names};
use nyala_wire::map::ClusterMap;
use nyala_wire::{GroupId, NodeId, PoolId, TargetId};
use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// A shell that asks for completions sets it to its name.
pub const VARIABLE: &str = "NYALA_COMPLETE";
/// A prompt waits no longer for the cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(800);

/// Answers a shell about a command line and ends the process, if a shell asks.
pub fn answer(command: fn() -> Command) {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(|| completed(command())).var(VARIABLE).complete();
    }
}

/// The command line, with candidates for what the cluster knows.
fn completed(command: Command) -> Command {
    let with_candidates = |arg: Arg| match kind(&arg) {
        None => arg,
        Some((kind, aliases)) => {
            arg.add(ArgValueCompleter::new(move |current: &OsStr| candidates(kind, aliases, current)))
        }
    };
    command.mut_args(with_candidates).mut_subcommands(completed)
}

/// What an argument names, and whether aliases will do; by the name of its value, which says it in the help as well.
fn kind(arg: &Arg) -> Option<(Kind, bool)> {
    let name = arg.get_value_names()?.first()?.trim_end_matches(",…");
    let (kind, id) = match name {
        "TARGET" => (Kind::Target, TypeId::of::<TargetId>()),
        "NODE" => (Kind::Node, TypeId::of::<NodeId>()),
        "GROUP" => (Kind::Group, TypeId::of::<GroupId>()),
        "POOL" => (Kind::Pool, TypeId::of::<PoolId>()),
        _ => return None,
    };
    Some((kind, arg.get_value_parser().type_id() != id))
}

fn candidates(kind: Kind, aliases: bool, current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = current.to_str() else { return Vec::new() };
    let Some(map) = within(ANSWER_TIMEOUT, map_of_words) else { return Vec::new() };
    let names = names(&map, kind, aliases).into_iter().filter(|name| name.value.starts_with(begun));
    names.map(|name| CompletionCandidate::new(name.value).help(Some(StyledStr::from(name.help)))).collect()
}

/// What comes of `work` in this time.
fn within<T: Send + 'static>(time: Duration, work: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (send, receive) = mpsc::channel();
    // Whoever hangs ends with the process.
    std::thread::Builder::new().spawn(move || send.send(work())).ok()?;
    receive.recv_timeout(time).ok()?
}

/// The map of the cluster that the words of the command line so far are about.
fn map_of_words() -> Option<ClusterMap> {
    // What a shell calls: the program, `--`, and the words.
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let args = named_cluster(&words, |name| std::env::var_os(name));
    let paths = words.iter().map(Path::new).filter(|path| path.components().count() > 1 && path.exists());
    let mounted = paths.filter_map(|path| match args.find_for(path) {
        Ok(Way::Cluster(cluster, _)) => Some(cluster),
        _ => None,
    });
    let cluster = mounted.into_iter().next().or_else(|| args.find().ok())?;
    block_on(async { cluster.map().await }).ok()
}

/// The flags, or variables, that name a cluster. What is not complete yet counts as not there.
fn named_cluster(words: &[OsString], variable: impl Fn(&str) -> Option<OsString>) -> ClusterArgs {
    let value = |flag: &str, name: &str| {
        let of_flag = words.iter().enumerate().find_map(|(at, word)| {
            let word = word.to_str()?;
            let rest = word.strip_prefix(flag)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(OsString::from(value)),
                None => words.get(at + 1).filter(|_| rest.is_empty()).cloned(),
            }
        });
        of_flag.or_else(|| variable(name)).filter(|value| !value.is_empty())
    };
    let text = |value: OsString| value.into_string().ok();
    ClusterArgs {
        dir: value("--dir", "NYALA_DIR").map(Into::into),
        mgmt: value("--mgmt", "NYALA_MGMT").and_then(text).and_then(|hosts| hosts.parse().ok()),
        secret: value("--secret", "NYALA_SECRET").map(Into::into),
        encrypt: value("--encrypt", "NYALA_ENCRYPT").and_then(text).map(|word| word != "false"),
        config: value("--config", "NYALA_CONFIG").map(Into::into),
    }
}

/// What a shell has to read so that it asks this program.
pub fn registration(shell: clap_complete::Shell) -> Result<String, Failure> {
    let shells = clap_complete::env::Shells::builtins();
    let name = shell.to_string();
    let unknown = || Failure::failed(format!("there are no completions for {name}; try --static"));
    let mut text = Vec::new();
    let completer = shells.completer(&name).ok_or_else(unknown)?;
    let written = completer.write_registration(VARIABLE, "nyala", "nyala", "nyala", &mut text);
    written.map_err(|error| Failure::failed(format!("cannot write completions for {name}: {error}")))?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if shell == clap_complete::Shell::Zsh {
        // A file in a directory of completions is the function's body at its first call, and has to complete then.
        text += "if [ \"$funcstack[1]\" = \"_nyala\" ]; then _clap_dynamic_completer_nyala \"$@\"; fi\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn all_kinds(command: &Command, path: &str, all: &mut Vec<(String, Kind, bool)>) {
        for arg in command.get_arguments() {
            all.extend(kind(arg).map(|(kind, aliases)| (format!("{path} {}", arg.get_id()), kind, aliases)));
        }
        for below in command.get_subcommands() {
            all_kinds(below, &format!("{path} {}", below.get_name()), all);
        }
    }

    #[test]
    fn what_names_something_of_the_cluster_is_known() {
        let mut all = Vec::new();
        all_kinds(&Cli::command(), "nyala", &mut all);
        for (arg, kind, aliases) in [
            ("nyala target remove target", Kind::Target, false),
            ("nyala mirror create secondary", Kind::Target, false),
            ("nyala node remove node", Kind::Node, true),
            ("nyala mirror check groups", Kind::Group, false),
            ("nyala pool show pool", Kind::Pool, true),
            ("nyala entry find targets", Kind::Target, true),
            ("nyala entry set pool", Kind::Pool, true),
        ] {
            assert!(all.contains(&(arg.to_owned(), kind, aliases)), "{arg}: {all:?}");
        }
        completed(Cli::command()).debug_assert();
    }

    #[test]
    fn the_cluster_is_the_one_of_the_words() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let none = |_: &str| None;
        let args = named_cluster(&words("nyala target remove --dir /srv/x --mgmt=h:8008 --secret"), none);
        assert_eq!(args.dir.as_deref(), Some(Path::new("/srv/x")));
        assert!(args.mgmt.is_some() && args.secret.is_none() && args.encrypt.is_none());
        let args = named_cluster(&words("nyala node list"), |name| (name == "NYALA_DIR").then(|| "/srv/y".into()));
        assert_eq!(args.dir.as_deref(), Some(Path::new("/srv/y")));
    }

    #[test]
    fn a_prompt_does_not_wait_for_ever() {
        let began = std::time::Instant::now();
        let hangs = || {
            // sleeps: a cluster that hangs
            std::thread::sleep(Duration::from_secs(30));
            Some(1)
        };
        assert_eq!(within(Duration::from_millis(20), hangs), None);
        assert_eq!(within(Duration::from_secs(30), || Some(2)), Some(2));
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn shells_call_this_program() {
        use clap_complete::Shell;
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let text = registration(shell).unwrap();
            assert!(text.contains(VARIABLE) && text.contains("nyala"), "{shell}: {text}");
        }
    }
}
