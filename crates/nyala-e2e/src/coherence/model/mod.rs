// SPDX-License-Identifier: Apache-2.0

//! Random operations from random mounts, one after the other, each compared with a model as soon as it has returned: what
//! one mount did, every other sees. Times are compared too: an inode that nothing touched has the same ones everywhere.

mod expect;
mod op;
mod rename;
mod state;
pub mod worker;

use super::{gang, number};
use nyala_wire::SplitMix64;
use op::Op;
use state::State;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Operations of a trace.
const TRACE: usize = 25;

/// A worker and the pipes to it.
struct Remote {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Remote {
    fn start(dir: &str) -> Remote {
        let mut command = gang::start(&["model".to_owned(), dir.to_owned()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take().expect("the input was asked for");
        let output = BufReader::new(child.stdout.take().expect("the output was asked for"));
        Remote { child, input, output }
    }

    fn ask(&mut self, op: &Op) -> Result<String, String> {
        let mut answer = String::new();
        let asked = self.input.write_all(format!("{}\n", op.line()).as_bytes());
        let read = asked.and_then(|()| self.output.read_line(&mut answer));
        match read {
            Ok(length) if length > 0 => Ok(answer.trim_end().to_owned()),
            other => Err(format!("the worker is gone: {other:?}")),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // It is our own child and not yet waited for; that it has ended already does no harm.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Coordinates: `SEED STEPS DIR…`.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [seed, steps, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let (seed, steps): (u64, usize) = (number(seed)?, number(steps)?);
    let mut workers: Vec<Remote> = dirs.iter().map(|dir| Remote::start(dir)).collect();
    let (mut random, mut state, mut seen) = (SplitMix64::new(seed), State::new(), Seen::default());
    let mut trace: VecDeque<String> = VecDeque::new();
    let shown = std::env::var("NYALA_TRACE").ok().and_then(|steps| steps.parse().ok()).unwrap_or(TRACE);
    for step in 0..steps {
        let (mount, op) = (random.index(dirs.len()), Op::random(&mut random));
        let mut wanted = expect::expect(&mut state, mount, &op)
            .map_or_else(|errno| format!("error {errno}"), |text| format!("ok {text}"));
        let got = workers[mount].ask(&op)?;
        let compared =
            if got.starts_with("error") { got.split(' ').take(2).collect::<Vec<_>>().join(" ") } else { got.clone() };
        let compared = match compared.split_once(" inode ") {
            Some((what, times)) => {
                if let Some(wrong) = seen.look(&mut state, mount, &op, times) {
                    wanted.push_str(&wrong);
                }
                what.to_owned()
            }
            None => compared,
        };
        seen.touch(&mut state, mount, &op, got.starts_with("ok"));
        trace.push_back(format!("{step}: mount {mount}: {} -> {got}", op.line()));
        if trace.len() > shown {
            trace.pop_front();
        }
        if compared.trim_end() != wanted.trim_end() && !is_as_good(&op, &wanted, &compared) {
            let mut report = vec![format!("seed {seed} step {step}: wanted {wanted:?}")];
            report.extend(trace);
            report.extend(again(&mut workers, &op));
            return Err(report.join("\n"));
        }
    }
    Ok(())
}

/// A file onto a directory that it is in: Linux says that this one is not empty where it knows that it is above, and what
/// POSIX says, that it is a directory, where another mount has moved it meanwhile.
fn is_as_good(op: &Op, wanted: &str, got: &str) -> bool {
    op.name == "rename" && wanted == format!("error {}", libc::ENOTEMPTY) && got == format!("error {}", libc::EISDIR)
}

/// What every mount says now about the paths of an operation that went wrong.
fn again(workers: &mut [Remote], op: &Op) -> Vec<String> {
    let mut said = Vec::new();
    for (mount, worker) in workers.iter_mut().enumerate() {
        for (name, path) in op.paths.iter().flat_map(|path| [("stat", path), ("whole", path), ("list", path)]) {
            let ask = Op { name, paths: vec![path.clone()], numbers: Vec::new() };
            said.push(format!("afterwards: mount {mount}: {name} {path} -> {:?}", worker.ask(&ask)));
        }
    }
    said
}

/// Inode numbers, and times that must not change by themselves.
#[derive(Default)]
struct Seen {
    numbers: HashMap<usize, String>,
    times: HashMap<usize, String>,
}

/// Operations that change no time but, perhaps, that of access.
const LOOKS: [&str; 12] =
    ["read", "whole", "stat", "list", "getxattr", "readlink", "mapread", "hopen", "hread", "hstat", "hsync", "hclose"];

impl Seen {
    /// Compares the end of an answer of stat, `NUMBER mtime TIME`, with what was seen; what is wrong.
    fn look(&mut self, state: &mut State, mount: usize, op: &Op, text: &str) -> Option<String> {
        let inode = match op.name {
            "hstat" => *state.handles.get(&(mount, op.numbers[0]))?,
            _ => state.inode(&op.paths[0]).ok()?,
        };
        let (number, time) = text.split_once(" mtime ")?;
        let known = self.numbers.entry(inode).or_insert_with(|| number.to_owned()).clone();
        let before = self.times.entry(inode).or_insert_with(|| time.to_owned()).clone();
        if known != number {
            return Some(format!(" with inode {known}"));
        }
        (before != time).then(|| format!(" with mtime {before}"))
    }

    /// After an operation, times may be others. Which, is the model of another test: all are forgotten.
    fn touch(&mut self, state: &mut State, mount: usize, op: &Op, done: bool) {
        if !done || LOOKS.contains(&op.name) {
            return;
        }
        if let Some(handle) = op.name.starts_with('h').then(|| state.handles.get(&(mount, op.numbers[0]))) {
            handle.map(|inode| self.times.remove(inode));
            return;
        }
        for path in &op.paths {
            let parent = path.rsplit_once('/').map_or(Ok(0), |(dir, _)| state.inode(dir));
            for inode in [state.inode(path), parent].into_iter().flatten() {
                self.times.remove(&inode);
            }
        }
    }
}
