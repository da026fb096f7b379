// SPDX-License-Identifier: Apache-2.0

//! Processes that hold locks: locks of `fcntl` belong to a process, and dying is what a test has them do.
//!
//! One line is one command: `lock FILE WAY KIND START LEN wait|try`, `get FILE KIND START LEN`, `write FILE AT TEXT`, `sync FILE`,
//! `read FILE`, `fill FILE AT LEN CHAR`, `truncate FILE LEN`, `punch FILE AT LEN`, `copy FILE FROM TO LEN`, `close FILE`, `exit FILE` (with all files open). The answer is one line: `ok …` or `error ERRNO …`. SIGUSR1 interrupts what waits.
//!
//! Failure model: a command may wait for ever, in a mount that is dead too. Answers are read by a thread of their own, and a
//! process is killed, not waited for, when its value is dropped.

use crate::cluster::sibling;
use crate::file_locks::{self, Kind, Way};
use crate::sys;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

extern "C" fn nothing(_: libc::c_int) {}

/// Serves the process's commands until its input ends.
pub fn serve(files: &[String]) -> Result<()> {
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: all-zero bytes are a valid sigaction: no flags (so that waiting is not taken up again), no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // SAFETY: the structure lives through the call, and the handler does nothing.
    unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    let open = |path: &String| OpenOptions::new().read(true).write(true).open(path).map(Some);
    let mut files: Vec<Option<File>> = files.iter().map(open).collect::<Result<_>>()?;
    let mut out = std::io::stdout();
    out.write_all(b"ok open\n")?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match command(&mut files, &line.split(' ').collect::<Vec<_>>()) {
            Ok(text) => format!("ok {text}\n"),
            Err(error) => format!("error {} {error}\n", error.raw_os_error().unwrap_or(0)),
        };
        out.write_all(answer.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn odd(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("unknown command {what:?}"))
}

fn kind(name: &str) -> Result<Kind> {
    match name {
        "read" => Ok(Kind::Read),
        "write" => Ok(Kind::Write),
        "unlock" => Ok(Kind::Unlock),
        _ => Err(odd(name)),
    }
}

fn command(files: &mut [Option<File>], words: &[&str]) -> Result<String> {
    let number = |text: &str| text.parse::<i64>().map_err(|_| odd(text));
    let at = words.get(1).and_then(|word| word.parse::<usize>().ok()).ok_or_else(|| odd(&words.join(" ")))?;
    let slot = files.get_mut(at).ok_or_else(|| odd(&words.join(" ")))?;
    if words[0] == "close" {
        slot.take();
        return Ok(String::new());
    }
    if words[0] == "exit" {
        std::process::exit(0);
    }
    let file = slot.as_ref().ok_or_else(|| odd("a closed file"))?;
    match (words[0], &words[2..]) {
        ("lock", [way, how, start, len, wait]) => {
            let way = Way::parse(way).ok_or_else(|| odd(way))?;
            file_locks::set(file, way, kind(how)?, number(start)?, number(len)?, *wait == "wait")?;
            Ok(String::new())
        }
        ("get", [how, start, len]) => Ok(match file_locks::get(file, kind(how)?, number(start)?, number(len)?)? {
            Some((kind, start, len)) => format!("{kind:?} {start} {len}").to_lowercase(),
            None => "free".to_owned(),
        }),
        ("write", [at, text]) => file.write_all_at(text.as_bytes(), number(at)? as u64).map(|()| String::new()),
        ("fill", [at, len, with]) => fill(file, number(at)? as u64, number(len)? as u64, with).map(|()| String::new()),
        ("truncate", [len]) => file.set_len(number(len)? as u64).map(|()| String::new()),
        ("punch", [at, len]) => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            sys::fallocate(file, mode, number(at)?, number(len)?).map(|()| String::new())
        }
        ("copy", [from, to, len]) => {
            let copied = sys::copy_file_range(file, number(from)?, file, number(to)?, number(len)? as usize)?;
            if copied as i64 == number(len)? { Ok(String::new()) } else { Err(odd("a short copy")) }
        }
        ("sync", []) => file.sync_all().map(|()| String::new()),
        ("read", []) => {
            let mut bytes = vec![0; 4096];
            let got = file.read_at(&mut bytes, 0)?;
            Ok(String::from_utf8_lossy(&bytes[..got]).into_owned())
        }
        _ => Err(odd(&words.join(" "))),
    }
}

/// Writes a character over a range, 1 MiB with each call.
fn fill(file: &File, at: u64, len: u64, with: &str) -> Result<()> {
    let piece = vec![*with.as_bytes().first().ok_or_else(|| odd("no character"))?; 1 << 20];
    let mut done = 0;
    while done < len {
        let now = (len - done).min(piece.len() as u64);
        file.write_all_at(&piece[..now as usize], at + done)?;
        done += now;
    }
    Ok(())
}

/// Such a process, as a test has it.
pub struct Locker {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Locker {
    /// Starts one that has these files open.
    pub fn start(files: &[PathBuf]) -> Locker {
        let mut command = Command::new(sibling("nyala-e2e-locker"));
        command.args(files).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take().expect("the input was asked for");
        let output = BufReader::new(child.stdout.take().expect("the output was asked for"));
        let (tell, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let mut locker = Locker { child, input, answers };
        assert_eq!(locker.answer(Duration::from_secs(30)).as_deref(), Some("ok open"), "{files:?}");
        locker
    }

    /// Tells it something; the answer comes later.
    pub fn tell(&mut self, command: &str) {
        self.input.write_all(format!("{command}\n").as_bytes()).expect("the process takes commands");
    }

    /// The next answer, if it comes within this time.
    pub fn answer(&mut self, limit: Duration) -> Option<String> {
        self.answers.recv_timeout(limit).ok()
    }

    /// Tells it something that ends soon; the answer without blanks at its end.
    #[track_caller]
    pub fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.end_of(command, Duration::from_secs(30))
    }

    /// The answer to what was told before.
    #[track_caller]
    pub fn end_of(&mut self, command: &str, limit: Duration) -> String {
        let answer = self.answer(limit).unwrap_or_else(|| panic!("`{command}` does not end within {limit:?}"));
        answer.trim_end().to_owned()
    }

    /// Whether it has ended within this time.
    pub fn ends(&mut self, limit: Duration) -> bool {
        crate::run::wait(&mut self.child, limit).is_some()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        crate::cleanup::signal(self.child.id() as i32, signal);
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        // It is our own child; that it has ended already does no harm.
        let _ = self.child.kill();
        crate::run::wait(&mut self.child, Duration::from_secs(5));
    }
}
