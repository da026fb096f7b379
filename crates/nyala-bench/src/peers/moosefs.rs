// SPDX-License-Identifier: Apache-2.0

//! MooseFS on this machine: a master, two chunk servers and a mount, in a directory of their own.
//!
//! **Failure model.** A port that is taken, or a program that does not like its settings, ends a server: the wait for it says so, with
//! its last words.

use super::mounts::is_mounted;
use super::processes::{installed, start, wait};
use crate::error::{BenchError, io};
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// Its metadata before there is any.
const EMPTY: &str = "MFSM NEW";

/// An address of this machine that is not a loopback one: chunk servers refuse those. What it is asked for sends nothing.
fn own_address() -> Result<IpAddr, BenchError> {
    let asked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        // Of the block for documentation, where nobody is.
        socket.connect("203.0.113.1:9")?;
        socket.local_addr()
    });
    let address = asked.map(|address| address.ip()).ok().filter(|address| !address.is_loopback());
    address.ok_or_else(|| BenchError::failed("MooseFS takes no loopback address, and this machine has no other"))
}

fn lines(settings: &[(&str, String)]) -> String {
    settings.iter().fold(String::new(), |mut all, (key, value)| {
        // why ignored: writing to a string does not fail.
        let _ = writeln!(all, "{key} = {value}");
        all
    })
}

/// Settings of the master, whose three ports begin there.
fn master(dir: &Path, here: IpAddr, port: u16) -> String {
    let within = |name: &str| dir.join(name).display().to_string();
    let listen = |n: u16| (port + n).to_string();
    let here = here.to_string();
    lines(&[
        ("WORKING_USER", "root".to_owned()),
        ("WORKING_GROUP", "root".to_owned()),
        ("NICE_LEVEL", "0".to_owned()),
        ("DATA_PATH", within("master")),
        ("EXPORTS_FILENAME", within("exports.cfg")),
        ("TOPOLOGY_FILENAME", within("topology.cfg")),
        ("MATOML_LISTEN_HOST", here.clone()),
        ("MATOML_LISTEN_PORT", listen(0)),
        ("MATOCS_LISTEN_HOST", here.clone()),
        ("MATOCS_LISTEN_PORT", listen(1)),
        ("MATOCL_LISTEN_HOST", here),
        ("MATOCL_LISTEN_PORT", listen(2)),
    ])
}

/// Settings of a chunk server.
fn chunks(dir: &Path, here: IpAddr, port: u16, number: u16) -> String {
    let within = |name: &str| dir.join(format!("{name}{number}")).display().to_string();
    let here = here.to_string();
    lines(&[
        ("WORKING_USER", "root".to_owned()),
        ("WORKING_GROUP", "root".to_owned()),
        ("NICE_LEVEL", "0".to_owned()),
        ("DATA_PATH", within("chunks")),
        ("HDD_CONF_FILENAME", within("disks")),
        ("HDD_LEAVE_SPACE_DEFAULT", "16MiB".to_owned()),
        ("BIND_HOST", here.clone()),
        ("MASTER_HOST", here.clone()),
        ("MASTER_PORT", (port + 1).to_string()),
        ("CSSERV_LISTEN_HOST", here),
        ("CSSERV_LISTEN_PORT", (port + 2 + number).to_string()),
    ])
}

/// Starts and mounts it with its defaults: every chunk once, or on both servers.
pub fn up(dir: &Path, mount: &Path, base_port: u16, copies: u8) -> Result<(), BenchError> {
    let here = own_address()?;
    let put = |name: &str, text: &str| {
        fs::write(dir.join(name), text).map_err(io(format!("cannot write {name} in {}", dir.display())))
    };
    for name in ["master", "chunks1", "chunks2", "data1", "data2"] {
        fs::create_dir(dir.join(name)).map_err(io(format!("cannot make {name} in {}", dir.display())))?;
    }
    put("master/metadata.mfs", EMPTY)?;
    put("exports.cfg", &format!("{here} / rw,alldirs,maproot=0\n"))?;
    put("topology.cfg", "")?;
    put("master.cfg", &master(dir, here, base_port))?;
    let within = |name: &str| dir.join(name).display().to_string();
    start(dir, "mfsmaster", &["-f", "-c", &within("master.cfg"), "start"])?;
    // Who does not find the master gives up.
    for port in [base_port + 1, base_port + 2] {
        wait("MooseFS's master listens", dir, LIMIT, || TcpStream::connect((here, port)).is_ok())?;
    }
    for number in [1, 2] {
        put(&format!("disks{number}"), &format!("{}\n", within(&format!("data{number}"))))?;
        put(&format!("chunks{number}.cfg"), &chunks(dir, here, base_port, number))?;
        start(dir, "mfschunkserver", &["-f", "-c", &within(&format!("chunks{number}.cfg")), "start"])?;
    }
    let (path, port) = (mount.display().to_string(), (base_port + 2).to_string());
    start(dir, "mfsmount", &[&path, "-f", "-H", &here.to_string(), "-P", &port, "-o", "mfsnice=0"])?;
    wait("MooseFS is mounted", dir, LIMIT, || is_mounted(mount))?;
    let copies = copies.to_string();
    wait("MooseFS takes the number of copies", dir, LIMIT, || {
        installed("mfssetgoal").is_some_and(|program| {
            let mut command = Command::new(program);
            command.args(["-r", &copies, &path]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_in_the_directory_and_agree_on_ports() {
        let (dir, here) = (Path::new("/x"), IpAddr::from([192, 0, 2, 7]));
        let (master, second) = (master(dir, here, 9000), chunks(dir, here, 9000, 2));
        assert!(second.contains("MASTER_HOST = 192.0.2.7\n") && master.contains("MATOCL_LISTEN_HOST = 192.0.2.7\n"));
        assert!(master.contains("DATA_PATH = /x/master\n") && master.contains("MATOCS_LISTEN_PORT = 9001\n"));
        assert!(second.contains("MASTER_PORT = 9001\n") && second.contains("CSSERV_LISTEN_PORT = 9004\n"));
        assert!(second.contains("HDD_CONF_FILENAME = /x/disks2\n"));
    }
}
