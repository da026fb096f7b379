// SPDX-License-Identifier: Apache-2.0

//! A headless Chromium, led over its debugging pipe: no port, no network but loopback, a profile of its own.
//!
//! Failure model: it may not start, hang, or die: every question has a time limit, and what it said is in the message. It ends with the
//! value; its files are in the directory that it was given.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Longest wait for what a page is to show.
const SHOWN: Duration = Duration::from_secs(60);

const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-default-browser-check \
                     --disable-background-networking --disable-component-update --disable-default-apps \
                     --disable-domain-reliability --disable-sync --metrics-recording-only --remote-debugging-pipe";
/// It knows no host but this one.
const NAMES: &str = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: File,
    answers: Receiver<Value>,
    session: String,
    last: u64,
}

impl Browser {
    /// Starts it, with its files in this directory.
    pub fn start(dir: &Path) -> Browser {
        let dir = dir.join("browser");
        std::fs::create_dir(&dir).expect("a directory for the browser");
        let pipe = |name: &str| {
            let path = dir.join(name);
            let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
            assert!(made.success(), "mkfifo {}", path.display());
            path
        };
        let (commands, answers) = (pipe("commands"), pipe("answers"));
        // It reads from descriptor 3 and writes to 4.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 3<\"$1\" 4>\"$2\"; shift 2; exec chromium \"$@\"", "sh"]);
        shell.args([&commands, &answers]).args(FLAGS.split_whitespace()).arg(NAMES);
        shell.arg(format!("--user-data-dir={}", dir.join("profile").display())).arg("about:blank");
        let log = File::create(dir.join("log")).expect("a log");
        let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("sh runs");
        // In the order in which the shell opens them.
        let commands = OpenOptions::new().write(true).open(commands).expect("the shell reads");
        let answers = File::open(answers).expect("the shell writes");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let messages = BufReader::new(answers).split(0).map_while(Result::ok);
            for message in messages.filter_map(|bytes| serde_json::from_slice(&bytes).ok()) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser { child, commands, answers: receiver, session: String::new(), last: 0 };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("the browser runs");
        let began = Instant::now();
        loop {
            let left = ANSWER.saturating_sub(began.elapsed());
            let message = self.answers.recv_timeout(left);
            let message = message.unwrap_or_else(|error| panic!("{method}: no answer of the browser: {error}"));
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// Goes to an address. The page before is complete, too, until it has gone.
    pub fn open(&mut self, address: &str) {
        self.evaluate("window.isLeaving = true");
        self.call("Page.navigate", json!({"url": address}));
        self.wait("!window.isLeaving && document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Evaluates a script in the page. Pages that are on their way have no value.
    pub fn evaluate(&mut self, script: &str) -> Value {
        self.call("Runtime.evaluate", json!({"expression": script, "returnByValue": true}))["result"]["value"].clone()
    }

    /// The page as text.
    pub fn text(&mut self) -> String {
        self.evaluate("document.body ? document.body.innerText : ''").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a script says true.
    pub fn wait(&mut self, script: &str) {
        let began = Instant::now();
        while self.evaluate(script) != true {
            assert!(began.elapsed() < SHOWN, "not true after {SHOWN:?}: {script}\n{}", self.text());
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the page shows a text.
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait(&format!("document.body !== null && document.body.innerText.includes({})", json!(text)));
    }

    /// Whether pages that are opened from now on may run scripts of their own. [`Browser::evaluate`] does in any case.
    pub fn let_scripts_run(&mut self, run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !run}));
    }

    /// Presses a key of the keyboard.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            let code = if key == "Enter" { 13 } else { 9 };
            let event = json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        if crate::run::wait(&mut self.child, Duration::from_secs(10)).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
