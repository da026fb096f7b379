// SPDX-License-Identifier: Apache-2.0

//! The web page: who gets in, what each may do, and what comes by itself.

use crate::common::*;
use nyala_wire::map::{Reachability, Role};
use nyala_wire::mgmt::MgmtRequest;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Status, headers and body of a reply.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(": ").map(|(_, value)| value)
    }
}

/// A browser: keeps its cookie.
struct Browser {
    at: SocketAddr,
    cookie: String,
}

impl Browser {
    fn send(&self, method: &str, path: &str, more: &str, form: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let kind = if form.is_empty() { "" } else { "Content-Type: application/x-www-form-urlencoded\r\n" };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: other=1; {}\r\n{kind}{more}Content-Length: {}\r\n\r\n{form}",
            self.cookie,
            form.len()
        )
        .unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, form: &str) -> Reply {
        self.ask_with(method, path, "", form)
    }

    fn ask_with(&self, method: &str, path: &str, more: &str, form: &str) -> Reply {
        let mut text = String::new();
        self.send(method, path, more, form).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn login(at: SocketAddr, token: &str) -> Browser {
        let mut browser = Browser { at, cookie: String::new() };
        let reply = browser.ask("POST", "/login", &format!("token={token}"));
        assert_eq!((reply.status, reply.header("location")), (303, Some("/")), "{}", reply.body);
        browser.cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        browser
    }

    /// The word that forms have to have.
    fn csrf(&self) -> String {
        let page = self.ask("GET", "/", "").body;
        let at = page.find("name=\"csrf\" value=\"").unwrap() + 19;
        page[at..].split('"').next().unwrap().to_owned()
    }
}

fn view_token(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("mgmt/view.token")).unwrap().trim().to_owned()
}

/// A management service with two mirrored storage targets.
async fn mirrored(dir: &Path) -> (Running, [std::net::TcpListener; 3]) {
    let mgmt = Running::start(config(dir));
    let ports = [(); 3].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let at = |n: usize| ports[n].local_addr().unwrap();
    register(&mgmt.metadata_client(), service(Role::Meta, 1, &[11], at(0))).await;
    register(&mgmt.client(), storage(2, &[21], at(1))).await;
    register(&mgmt.client(), storage(3, &[31], at(2))).await;
    let made = mgmt.api("POST", "/groups", r#"{"kind": "storage", "members": [101, 102]}"#);
    assert_eq!(made.0, 200, "{made:?}");
    (mgmt, ports)
}

#[tokio::test]
async fn nobody_gets_in_without_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let stranger = Browser { at: mgmt.rest, cookie: "nyala_session_1=0123".to_owned() };
    for path in [
        "/",
        "/topology",
        "/targets",
        "/mirrors",
        "/services",
        "/clients",
        "/files?path=/a",
        "/events",
        "/live",
        "/act?do=cancel-moves",
    ] {
        let reply = stranger.ask("GET", path, "");
        assert_eq!((reply.status, reply.header("location")), (303, Some("/login")), "{path}");
    }
    assert_eq!(stranger.ask("POST", "/act", "do=cancel-moves&csrf=").header("location"), Some("/login"));
    for wrong in ["", "x", &mgmt.token[1..]] {
        let reply = stranger.ask("POST", "/login", &format!("token={wrong}"));
        assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{wrong}");
    }
    let reply = stranger.ask_with("POST", "/login", "Sec-Fetch-Site: cross-site\r\n", &format!("token={}", mgmt.token));
    assert_eq!((reply.status, reply.header("set-cookie")), (403, None));
    for asset in ["/login", "/assets/style.css", "/assets/live.js", "/assets/icon.svg"] {
        let reply = stranger.ask("GET", asset, "");
        assert_eq!(reply.status, 200, "{asset}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    assert_eq!(stranger.ask("GET", "/no/such", "").status, 404);
}

#[tokio::test]
async fn sessions_end_with_a_logout() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let browser = Browser::login(mgmt.rest, &mgmt.token);
    let reply = browser.ask("GET", "/", "");
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")));
    browser.ask("POST", "/logout", "csrf=wrong");
    assert_eq!(browser.ask("GET", "/", "").status, 200, "not by a form of somebody else");
    let csrf = browser.csrf();
    assert_eq!(browser.ask("POST", "/logout", &format!("csrf={csrf}")).header("location"), Some("/login"));
    assert_eq!(browser.ask("GET", "/", "").status, 303);
}

#[tokio::test]
async fn a_viewer_looks_and_an_administrator_acts() {
    let dir = tempfile::tempdir().unwrap();
    let (mgmt, _port) = mirrored(dir.path()).await;
    let viewer = Browser::login(mgmt.rest, &view_token(dir.path()));
    let page = viewer.ask("GET", "/mirrors", "").body;
    assert!(page.contains("Viewer") && !page.contains("/act?"), "{page}");
    let switch = "do=switch&group=1&target=102";
    let primary = || mgmt.api("GET", "/groups", "").1[0]["members"][0]["target"].clone();
    assert_eq!(viewer.ask("GET", &format!("/act?{switch}"), "").status, 403);
    assert_eq!(viewer.ask("POST", "/act", &format!("{switch}&csrf={}", viewer.csrf())).status, 403);

    let admin = Browser::login(mgmt.rest, &mgmt.token);
    assert!(admin.ask("GET", "/mirrors", "").body.contains("/act?do=switch&amp;group=1&amp;target=102"));
    let asked = admin.ask("GET", &format!("/act?{switch}"), "").body;
    assert!(asked.contains("Target 102 becomes primary of mirror group 1, instead of target 101."), "{asked}");
    for csrf in ["", "&csrf=", &format!("&csrf={}", viewer.csrf())] {
        let reply = admin.ask("POST", "/act", &format!("{switch}{csrf}"));
        assert_eq!((reply.status, primary()), (403, 101.into()), "{csrf}");
    }
    assert!(admin.ask("GET", "/act?do=switch&group=1&target=999", "").body.contains("no member"));
    let reply = admin.ask("POST", "/act", &format!("{switch}&csrf={}", admin.csrf()));
    assert_eq!((reply.status, reply.header("location"), primary()), (303, Some("/mirrors"), 102.into()));
    assert!(admin.ask("GET", "/mirrors", "").body.contains("Done."));
    assert!(!admin.ask("GET", "/mirrors", "").body.contains("Done."), "said once");
    let events = viewer.ask("GET", "/events", "").body;
    assert!(events.contains("is primary of mirror group 1, after 101") && events.contains("operator"), "{events}");
}

#[tokio::test]
async fn the_token_for_looking_changes_nothing_over_rest() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    mgmt.api("GET", "/cluster", "");
    let view = view_token(dir.path());
    assert_eq!(mgmt.http("GET", "/health", Some(&view), "").0, 200);
    for (method, path) in [("PUT", "/settings"), ("POST", "/groups/auto"), ("DELETE", "/mgmt/1"), ("PATCH", "/nodes/1")]
    {
        let (status, body) = mgmt.http(method, path, Some(&view), "{}");
        assert_eq!((status, body["code"].as_str()), (403, Some("forbidden")), "{method} {path}");
    }
}

/// Reads events until one has all of these words in one part.
fn await_event(events: &mut BufReader<TcpStream>, part: &str, words: &[&str]) {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the events ended before {words:?} came");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: serde_json::Value = serde_json::from_str(data).unwrap();
        let html = event["html"].as_str().unwrap();
        if event["id"] == part && words.iter().all(|word| html.contains(word)) {
            return;
        }
    }
}

#[tokio::test]
async fn a_failover_is_shown_while_it_happens() {
    let dir = tempfile::tempdir().unwrap();
    let (mgmt, _port) = mirrored(dir.path()).await;
    let viewer = Browser::login(mgmt.rest, &view_token(dir.path()));
    let mut events = BufReader::new(viewer.send("GET", "/live?page=/mirrors", "", ""));
    await_event(&mut events, "mirrors", &["101", "102"]);
    // It says goodbye: the other one is primary.
    let node = map(&mgmt.client()).await.nodes.iter().find(|node| node.role == Role::Storage).unwrap().id;
    let goodbye = MgmtRequest::Goodbye { node, incarnation: 2 };
    ask(&mgmt.client(), goodbye).await.unwrap();
    await_event(&mut events, "state", &["Degraded"]);
    let map = map(&mgmt.client()).await;
    assert_eq!(map.node(node).unwrap().reachability, Reachability::Offline);
    assert_eq!(map.groups[0].primary().map(|target| target.0), Some(102));
    let page = viewer.ask("GET", "/events", "").body;
    assert!(page.contains("is primary of mirror group 1, after 101") && page.contains("ended"), "{page}");
    drop(events);
    mgmt.stop();
}

#[tokio::test]
async fn changes_before_a_restart_have_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let (mgmt, port) = mirrored(dir.path()).await;
    mgmt.stop();
    let mgmt = Running::start(config(dir.path()));
    mgmt.api("GET", "/cluster", "");
    let viewer = Browser::login(mgmt.rest, &view_token(dir.path()));
    let page = viewer.ask("GET", "/events", "").body;
    let (before, made) = (page.find("before this node").unwrap(), page.find("mirror group 1 was made").unwrap());
    assert!(before < made, "{page}");
    drop(port);
}
