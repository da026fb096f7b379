// SPDX-License-Identifier: Apache-2.0

//! Programs on a terminal of 80 columns, and what somebody who sits there sees.
//!
//! **Failure model.** A program may hang: it is killed when its time is over. What it writes is read all the time, so that a full
//! terminal does not hold it up. Of the control sequences those are known that our own output has; another one is an error, since nobody
//! could say what is seen then.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The width of the terminal.
pub const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The exit code; absent when the time was over.
    pub code: Option<i32>,
    /// The lines that stay.
    pub text: String,
    /// Lines that others were drawn over, in the order in which they were seen.
    pub drawn: Vec<String>,
}

/// Runs a program on a terminal to its end, for at most `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Seen {
    let (terminal, program) = pair();
    let share = || Stdio::from(program.try_clone().expect("a descriptor can be duplicated"));
    command.env("TERM", "xterm").stdin(share()).stdout(share()).stderr(share()).process_group(0);
    let line = format!("{command:?}");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
    // The command holds copies of our end: the reader sees the end only without them.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(program);
    let reader = thread::spawn(move || {
        let (mut terminal, mut bytes) = (File::from(terminal), Vec::new());
        // EIO: nobody has the other end any more.
        let _ = terminal.read_to_end(&mut bytes);
        bytes
    });
    let status = crate::run::wait(&mut child, limit);
    if status.is_none() {
        crate::run::kill_group(&mut child);
    }
    let bytes = reader.join().expect("the reader ends with the program");
    let mut screen = Screen::default();
    screen.take(&String::from_utf8_lossy(&bytes));
    Seen { code: status.and_then(|status| status.code()), text: screen.text(), drawn: screen.drawn }
}

/// A new terminal: our end and the program's. Neither is inherited by programs that other tests start at the same moment, so that the
/// program's end closes when it ends.
fn pair() -> (OwnedFd, OwnedFd) {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    let made = |fd: i32, what: &str| {
        assert!(fd >= 0, "{what}: {}", std::io::Error::last_os_error());
        // SAFETY: the system call that `what` names has just opened it, and it belongs to nobody else.
        unsafe { OwnedFd::from_raw_fd(fd) }
    };
    // SAFETY: a system call without memory.
    let ours = made(unsafe { libc::posix_openpt(flags) }, "posix_openpt");
    let size = libc::winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the size lives through the call.
    let ready = unsafe {
        libc::grantpt(ours.as_raw_fd()) == 0
            && libc::unlockpt(ours.as_raw_fd()) == 0
            && libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) == 0
    };
    assert!(ready, "a terminal: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is open; the call takes flags and no memory.
    let theirs = made(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags) }, "TIOCGPTPEER");
    (ours, theirs)
}

/// Lines and a cursor; lines may be longer than the terminal is wide, so that it shows.
#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    at: (usize, usize),
    drawn: Vec<String>,
}

impl Screen {
    fn take(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' => self.at.1 = 0,
                '\n' => self.at = (self.at.0 + 1, self.at.1),
                '\u{1b}' => {
                    assert_eq!(chars.next(), Some('['), "an unknown control sequence");
                    let mut number = String::new();
                    while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')) {
                        number.push(c);
                    }
                    self.control(chars.next(), &number);
                }
                c => self.put(c),
            }
        }
    }

    fn control(&mut self, what: Option<char>, number: &str) {
        let count = number.parse().unwrap_or(1);
        match what {
            // Colours, and whether the cursor is seen.
            Some('m' | 'h' | 'l') => {}
            Some('A') => self.at.0 = self.at.0.saturating_sub(count),
            Some('B') => self.at.0 += count,
            Some('G') => self.at.1 = count.saturating_sub(1),
            Some('K') => {
                self.note();
                let from = if number == "2" { 0 } else { self.at.1 };
                self.line().truncate(from);
            }
            Some('J') => {
                self.note();
                let (row, column) = self.at;
                self.line().truncate(column);
                self.lines.truncate(row + 1);
            }
            other => panic!("an unknown control sequence: {number:?} {other:?}"),
        }
    }

    fn line(&mut self) -> &mut Vec<char> {
        if self.lines.len() <= self.at.0 {
            self.lines.resize(self.at.0 + 1, Vec::new());
        }
        &mut self.lines[self.at.0]
    }

    fn put(&mut self, c: char) {
        let column = self.at.1;
        let line = self.line();
        if line.len() <= column {
            line.resize(column + 1, ' ');
        }
        line[column] = c;
        self.at.1 += 1;
    }

    /// A line that is about to go was seen.
    fn note(&mut self) {
        let line: String = self.line().iter().collect();
        if !line.trim().is_empty() {
            self.drawn.push(line.trim_end().to_owned());
        }
    }

    fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n");
        lines.collect::<String>().trim_end().to_owned() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_over_is_seen_and_does_not_stay() {
        let mut screen = Screen::default();
        screen.take("a\r\n\u{1b}[32m1 %\u{1b}[0m\r\u{1b}[2K2 %\r\u{1b}[2Kend\r\n");
        assert_eq!((screen.text().as_str(), screen.drawn), ("a\nend\n", vec!["1 %".to_owned(), "2 %".to_owned()]));
    }

    #[test]
    fn a_program_finds_a_terminal_of_80_columns() {
        let seen = run(
            Command::new("sh").args(["-c", "stty size; test -t 1 && test -t 2 && exit 7"]),
            Duration::from_secs(10),
        );
        assert_eq!((seen.code, seen.text.as_str()), (Some(7), "24 80\n"));
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let seen = run(Command::new("sh").args(["-c", "echo x; sleep 60"]), Duration::from_millis(200));
        assert_eq!((seen.code, seen.text.as_str()), (None, "x\n"));
    }
}
