// SPDX-License-Identifier: Apache-2.0

//! Looks at the health of a cluster in all the ways that there are.

use nyala_e2e::Cluster;
use nyala_e2e::cluster::text;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Within so long what is wrong is named, and what is over is not.
const NAMED: Duration = Duration::from_secs(10);
/// What is over may stay in the window of the figures for a while.
const GONE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// The command, the REST API and the page, of a visitor with the viewer's token.
pub struct Looks<'a> {
    cluster: &'a Cluster,
    address: String,
    token: String,
    cookie: String,
}

/// A finding: what is wrong, and what to do.
type Found = (String, String);

impl<'a> Looks<'a> {
    pub fn at(cluster: &'a Cluster) -> Looks<'a> {
        let report = cluster.json(&["up", "--no-mount"]);
        let address = report["page"].as_str().unwrap_or_else(|| panic!("{report}"));
        let address = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let token = std::fs::read_to_string(cluster.dir().join("mgmt/view.token")).unwrap().trim().to_owned();
        let form = format!("token={token}");
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}",
            form.len()
        );
        let (said, _) = http(&address, &head, &form);
        let cookie =
            said.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_else(|| panic!("{said}"));
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Looks { cluster, address, token, cookie }
    }

    /// Waits until everybody says of this what is wrong with it and what to do.
    #[track_caller]
    pub fn wait_named(&self, about: &str, wrong: &str, advice: &str) {
        let names = |found: &Found| found.0.starts_with(about) && found.0.contains(wrong) && found.1.contains(advice);
        self.wait(
            NAMED,
            &format!("{about} … {wrong}"),
            |all| all.iter().any(names),
            |page| page.split("<li").any(|part| part.contains(about) && part.contains(wrong) && part.contains(advice)),
        );
    }

    /// Waits until nobody says anything of this any more.
    #[track_caller]
    pub fn wait_gone(&self, about: &str) {
        let names = |found: &Found| found.0.contains(about);
        self.wait(GONE, &format!("no {about}"), |all| !all.iter().any(names), |page| !page.contains(about));
    }

    #[track_caller]
    fn wait(&self, most: Duration, what: &str, found: impl Fn(&[Found]) -> bool, shown: impl Fn(&str) -> bool) {
        let began = Instant::now();
        let mut seen = [None; 3];
        while seen.contains(&None) {
            let (command, rest, page) = (self.command(), self.rest(), self.page());
            for (seen, is) in seen.iter_mut().zip([found(&command), found(&rest), shown(&page)]) {
                *seen = seen.filter(|_| is).or(is.then(|| began.elapsed()));
            }
            let waited = began.elapsed();
            assert!(
                waited < most || !seen.contains(&None),
                "{what}: after {waited:?} (command, REST, page: {seen:?})\n{command:#?}\n{rest:#?}\n{page}"
            );
            // sleeps: between two looks
            std::thread::sleep(PAUSE);
        }
        println!("{what}: by the command, REST and the page after {seen:?}");
    }

    fn command(&self) -> Vec<Found> {
        let dir = text(&self.cluster.dir());
        let done = self.cluster.nyala(["health", "check", "--dir", &dir, "--output", "json"]);
        let said: Value =
            serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.describe()));
        assert_eq!(done.code(), Some(if said["healthy"] == true { 0 } else { 6 }), "{}", done.describe());
        findings(&said)
    }

    fn rest(&self) -> Vec<Found> {
        let head =
            format!("GET /api/v1/health HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}", self.address, self.token);
        let (said, body) = http(&self.address, &head, "");
        assert!(said.starts_with("HTTP/1.1 200"), "{said}\n{body}");
        findings(&serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
    }

    fn page(&self) -> String {
        let head = format!("GET / HTTP/1.1\r\nHost: {}\r\nCookie: {}", self.address, self.cookie);
        let (said, body) = http(&self.address, &head, "");
        assert!(said.starts_with("HTTP/1.1 200"), "{said}\n{body}");
        // Commands are shown as such.
        body.replace("<code>", "`").replace("</code>", "`")
    }
}

fn findings(said: &Value) -> Vec<Found> {
    let word = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
    let all = said["findings"].as_array().unwrap_or_else(|| panic!("{said}"));
    all.iter().map(|found| (word(found, "what"), word(found, "advice"))).collect()
}

/// Head and body of the reply.
fn http(address: &str, head: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((reply.as_str(), ""));
    (head.to_owned(), body.to_owned())
}
