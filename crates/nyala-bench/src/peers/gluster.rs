// SPDX-License-Identifier: Apache-2.0

//! GlusterFS on this machine: its management daemon, two bricks and a mount, in a directory of their own.
//!
//! **Failure model.** Its bricks ask its management daemon at the port that is built in, 24007, so only one runs at a time for each
//! address; this one has 127.0.0.2. Where another has that, the daemon does not start, and its own words are in the message. It leaves
//! logs and sockets of bricks outside of its directory, which are removed at the end.

use super::processes::{installed, start, wait};
use crate::error::{BenchError, io};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const ADDRESS: &str = "127.0.0.2";
const VOLUME: &str = "bench";
const LIMIT: Duration = Duration::from_secs(30);
const LOGS: &str = "/var/log/glusterfs/bricks";

/// The settings of the management daemon.
fn settings(dir: &Path, base_port: u16) -> String {
    let dir = dir.display();
    let options = [
        format!("working-directory {dir}/work"),
        format!("run-directory {dir}/run"),
        format!("glusterd-sockfile {dir}/glusterd.sock"),
        "transport-type socket".to_owned(),
        "transport.address-family inet".to_owned(),
        format!("transport.socket.bind-address {ADDRESS}"),
        "transport.socket.listen-port 24007".to_owned(),
        format!("base-port {base_port}"),
        format!("max-port {}", base_port.saturating_add(40)),
    ];
    let options: String = options.iter().map(|option| format!("    option {option}\n")).collect();
    format!("volume management\n    type mgmt/glusterd\n{options}end-volume\n")
}

/// A command of its own command line.
fn gluster(dir: &Path, words: &[&str]) -> Result<(), BenchError> {
    let program = installed("gluster").ok_or_else(|| BenchError::failed("gluster is not installed"))?;
    let mut command = Command::new(program);
    command.arg(format!("--glusterd-sock={}", dir.join("glusterd.sock").display()));
    command.arg(format!("--log-file={}", dir.join("cli.log").display())).arg("--mode=script").args(words);
    let output = command.stdin(Stdio::null()).output().map_err(io("cannot run gluster"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(BenchError::failed(format!("gluster {}: {}", words.join(" "), String::from_utf8_lossy(&said).trim())))
}

/// Starts and mounts it with its defaults: content over two bricks, or a copy on each.
pub fn up(dir: &Path, mount: &Path, base_port: u16, copies: u8) -> Result<(), BenchError> {
    for name in ["work", "run", "brick1", "brick2"] {
        fs::create_dir(dir.join(name)).map_err(io(format!("cannot make {name} in {}", dir.display())))?;
    }
    let file = dir.join("glusterd.vol");
    fs::write(&file, settings(dir, base_port)).map_err(io(format!("cannot write {}", file.display())))?;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let within = |name: &str| dir.join(name).display().to_string();
    let daemon = words(&["-N", "-f", &within("glusterd.vol"), "-p", &within("pid"), "-l", &within("glusterd.log")]);
    start(dir, "glusterd", &daemon)?;
    wait("GlusterFS's management daemon answers", dir, LIMIT, || gluster(dir, &["volume", "list"]).is_ok())?;
    let bricks = ["brick1", "brick2"].map(|name| format!("{ADDRESS}:{}", within(name)));
    let replica: &[&str] = if copies > 1 { &["replica", "2"] } else { &[] };
    let make = [&["volume", "create", VOLUME], replica, &[&bricks[0], &bricks[1], "force"]].concat();
    gluster(dir, &make)?;
    gluster(dir, &["volume", "start", VOLUME])?;
    let path = mount.display().to_string();
    let id = format!("--volfile-id={VOLUME}");
    start(dir, "glusterfs", &words(&["-s", ADDRESS, &id, "-N", "-l", &within("mount.log"), &path]))
}

/// Before its processes end: what the bricks are asked to, so that they leave little behind.
pub fn down(dir: &Path) {
    if let Err(error) = gluster(dir, &["volume", "stop", VOLUME, "force"]) {
        eprintln!("nyala bench: {error}");
    }
    // The log of a brick has the brick's path in its name.
    let marked = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.contains(dir.display().to_string().trim_start_matches('/').replace('/', "-").as_str())
    };
    let logs = fs::read_dir(LOGS).into_iter().flatten().flatten().map(|entry| entry.path());
    for log in logs.filter(marked) {
        // why ignored: a log that stays harms nobody.
        let _ = fs::remove_file(log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_in_the_directory() {
        let text = settings(Path::new("/x/y"), 24100);
        for line in ["working-directory /x/y/work", "glusterd-sockfile /x/y/glusterd.sock", "max-port 24140"] {
            assert!(text.contains(&format!("    option {line}\n")), "{text}");
        }
        assert!(text.starts_with("volume management\n") && text.ends_with("end-volume\n"));
    }
}
