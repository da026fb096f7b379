// SPDX-License-Identifier: Apache-2.0

//! New clients.

use super::crowd::ports;
use nyala_e2e::Cluster;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::Outcome;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A new client of every service: connects to each and asks it.
pub fn ask_all(cluster: &Cluster) -> Outcome {
    let asked = cluster.nyala(["health", "net", "--dir", &text(&cluster.dir())]);
    assert!(asked.ok() && !asked.out.contains("<none>"), "{}\n{}", asked.describe(), cluster.logs(10));
    asked
}

/// A new client of the REST API.
pub fn ask_rest(cluster: &Cluster) -> Duration {
    let address = ports(cluster).into_iter().find(|(name, _)| name == "mgmt rest-listen").unwrap().1;
    let token = fs::read_to_string(cluster.dir().join("mgmt/rest.token")).unwrap();
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n", token.trim());
    stream.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap_or_else(|error| panic!("{error} after {:?}", began.elapsed()));
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    began.elapsed()
}

/// A whole new mount, and a file with data at storage.
pub fn mount_anew(cluster: &Cluster) -> Duration {
    let point = cluster.root().join("anew");
    fs::create_dir_all(&point).unwrap();
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let began = Instant::now();
    let secret = format!("secret={}", text(&cluster.dir().join("secret")));
    cluster.nyala(["mount", &source, &text(&point), "-o", &secret]).must();
    assert!(fs::read(point.join("known")).unwrap() == pattern(3, 300_000));
    let took = began.elapsed();
    cluster.nyala(["umount", &text(&point)]).must();
    took
}
