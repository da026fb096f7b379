// SPDX-License-Identifier: Apache-2.0

//! What the service manager has to do for a service: enabled if it is not, started if it does not run, started again only if there is
//! something that the running one has not read.
//!
//! **Failure model.** `systemctl` may be missing or say nothing: then nothing is known of the unit, and it is enabled and started,
//! which does no harm to one that runs. Clocks may be set: a running service's start is known by the clock that is never set.

use super::step::Step;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// What is asked of systemd about a unit.
const PROPERTIES: &str = "--property=ActiveState,UnitFileState,ExecMainStartTimestampMonotonic";

/// What the service manager knows about a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// It is started with the host.
    enabled: bool,
    /// It runs, or is about to.
    running: bool,
    /// How long ago its process started.
    age: Option<Duration>,
}

impl UnitState {
    /// Asks systemd.
    pub fn ask(unit: &str) -> UnitState {
        let answer = Command::new("systemctl").args(["show", PROPERTIES, unit]).output();
        let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let since_boot =
            u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1000;
        UnitState::parse(&text, since_boot)
    }

    /// Reads systemd's answer; `now_us` is the clock that it counts in, microseconds.
    fn parse(text: &str, now_us: u64) -> UnitState {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let running = matches!(value("ActiveState"), Some("active" | "activating" | "reloading"));
        let started: Option<u64> = value("ExecMainStartTimestampMonotonic").and_then(|text| text.parse().ok());
        let age =
            started.filter(|started| *started > 0).map(|started| Duration::from_micros(now_us.saturating_sub(started)));
        UnitState {
            enabled: matches!(value("UnitFileState"), Some("enabled" | "enabled-runtime")),
            running,
            age: age.filter(|_| running),
        }
    }

    /// What makes it run with everything that is there; `changes`: set-up is about to change what it reads.
    pub fn steps(&self, unit: &str, changes: bool, newest_read: Option<Duration>) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.enabled {
            steps.push(Step::run(&["systemctl", "enable", unit]));
        }
        // One whose start is not known is taken for one that has read everything: it is restarted for changes alone.
        let newer = newest_read.zip(self.age).is_some_and(|(file, process)| file < process);
        if !self.running {
            steps.push(Step::run(&["systemctl", "start", unit]));
        } else if changes || newer {
            steps.push(Step::run(&["systemctl", "restart", unit]));
        }
        steps
    }
}

/// How long ago the youngest of these files was changed.
pub fn newest(files: &[PathBuf]) -> Option<Duration> {
    let age = |file: &PathBuf| {
        let changed = std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
        Some(SystemTime::now().duration_since(changed).unwrap_or_default())
    };
    files.iter().filter_map(age).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: &str = "ActiveState=active\nUnitFileState=enabled\nExecMainStartTimestampMonotonic=40000000\n";

    fn commands(steps: &[Step]) -> Vec<String> {
        steps.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn answers_of_systemd() {
        let runs = UnitState::parse(RUNS, 100_000_000);
        assert_eq!(runs, UnitState { enabled: true, running: true, age: Some(Duration::from_mins(1)) });
        let waits =
            UnitState::parse("ActiveState=activating\nUnitFileState=disabled\nExecMainStartTimestampMonotonic=0\n", 5);
        assert_eq!(waits, UnitState { enabled: false, running: true, age: None });
        let ended = UnitState::parse(&RUNS.replace("=active", "=failed"), 100_000_000);
        assert_eq!(ended, UnitState { enabled: true, running: false, age: None });
        assert_eq!(UnitState::parse("", 5), UnitState::default());
    }

    #[test]
    fn a_service_that_has_read_everything_is_left_alone() {
        let runs = UnitState::parse(RUNS, 100_000_000);
        let (older, newer) = (Some(Duration::from_secs(61)), Some(Duration::from_secs(59)));
        assert_eq!(runs.steps("u", false, older), []);
        assert_eq!(runs.steps("u", false, None), []);
        assert_eq!(commands(&runs.steps("u", true, older)), ["run systemctl restart u"]);
        assert_eq!(commands(&runs.steps("u", false, newer)), ["run systemctl restart u"], "edited since it started");
        let disabled = UnitState { enabled: false, ..runs };
        assert_eq!(commands(&disabled.steps("u", false, older)), ["run systemctl enable u"]);
        let nothing = UnitState::default();
        assert_eq!(commands(&nothing.steps("u", false, newer)), ["run systemctl enable u", "run systemctl start u"]);
    }

    #[test]
    fn the_youngest_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str, ago: u64| {
            let path = dir.path().join(name);
            let file = std::fs::File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(ago)).unwrap();
            path
        };
        let files = [at("a", 1000), at("b", 100), dir.path().join("none")];
        let age = newest(&files).unwrap().as_secs();
        assert!((99..200).contains(&age), "{age}");
        assert_eq!(newest(&files[2..]), None);
    }
}
