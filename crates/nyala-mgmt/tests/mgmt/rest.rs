// SPDX-License-Identifier: Apache-2.0

//! The REST API: the token, every path, and errors in JSON.

use crate::common::*;
use nyala_wire::map::Role;
use serde_json::json;

#[tokio::test]
async fn nothing_without_the_token() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    mgmt.api("GET", "/cluster", "");
    let almost = format!("{}x", &mgmt.token[..mgmt.token.len() - 1]);
    let paths = [
        ("GET", "/cluster"),
        ("GET", "/map"),
        ("GET", "/nodes"),
        ("GET", "/mgmt"),
        ("DELETE", "/mgmt/1"),
        ("GET", "/targets"),
        ("GET", "/pools"),
        ("POST", "/pools"),
        ("PATCH", "/pools/1"),
        ("DELETE", "/pools/1"),
        ("GET", "/groups"),
        ("POST", "/groups"),
        ("POST", "/groups/auto"),
        ("DELETE", "/groups/1"),
        ("POST", "/groups/1/resync"),
        ("POST", "/groups/1/primary"),
        ("GET", "/access"),
        ("PUT", "/access"),
        ("DELETE", "/access"),
        ("GET", "/keys"),
        ("PUT", "/keys/1"),
        ("DELETE", "/keys/1"),
        ("GET", "/capacities"),
        ("GET", "/health"),
        ("PUT", "/settings"),
        ("PATCH", "/nodes/1"),
        ("PATCH", "/targets/1"),
        ("POST", "/targets/1/state"),
    ];
    for (method, path) in paths {
        for token in [None, Some(""), Some(almost.as_str()), Some(&mgmt.token[1..])] {
            let (status, body) = mgmt.http(method, path, token, "{}");
            assert_eq!((status, &body["code"]), (401, &json!("unauthorized")), "{method} {path} {token:?}");
            assert!(body["message"].as_str().unwrap().contains("rest.token"));
        }
        assert_ne!(mgmt.http(method, path, Some(&mgmt.token), "{}").0, 401);
    }
    let (status, api) = mgmt.http("GET", "/openapi.json", None, "");
    assert_eq!(status, 200, "the description is open");
    for (method, path) in paths {
        let described = path.replace("/1", "/{id}");
        let at = format!("/api/v1{described}");
        assert!(api["paths"][&at][method.to_lowercase()].is_object(), "{method} {at} is described");
    }
}

#[tokio::test]
async fn what_is_asked_and_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    assert_eq!(mgmt.api("GET", "/health", "").1["status"], "down", "no targets yet");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = port.local_addr().unwrap();
    register(&mgmt.metadata_client(), service(Role::Meta, 1, &[11], at)).await;
    register(&mgmt.client(), storage(2, &[21], at)).await;

    let (_, cluster) = mgmt.api("GET", "/cluster", "");
    assert_eq!(cluster["id"], CLUSTER.to_string());
    assert_eq!(cluster["settings"]["lease_ms"], 900);
    assert_eq!(mgmt.api("GET", "/map", "").1["slots"], json!([{"first": 0, "count": 64, "target": 1}]));
    let (_, all) = mgmt.api("GET", "/mgmt", "");
    assert_eq!((&all[0]["role"], &all[0]["reachable"], &all[0]["id"]), (&json!("leader"), &json!(true), &json!(1)));
    let (_, nodes) = mgmt.api("GET", "/nodes", "");
    assert_eq!((&nodes[1]["alias"], &nodes[1]["role"]), (&json!("meta1"), &json!("meta")));
    assert_eq!((&nodes[2]["reachability"], &nodes[2]["addresses"]), (&json!("online"), &json!([at.to_string()])));
    let (_, targets) = mgmt.api("GET", "/targets", "");
    assert_eq!((&targets[0]["slots"], &targets[1]["id"]), (&json!(64), &json!(101)));
    assert_eq!(targets[1]["capacity"]["total_bytes"], 1_u64 << 40);
    assert_eq!(mgmt.api("GET", "/pools", "").1, json!([{"id": 1, "alias": "default", "targets": [101]}]));
    assert_eq!(mgmt.api("GET", "/groups", "").1, json!([]));
    assert_eq!(mgmt.api("GET", "/capacities", "").1["limits"]["storage"]["low_bytes"], 512_u64 << 30);

    let (status, renamed) = mgmt.api("PATCH", "/nodes/3", r#"{"alias":"rack7"}"#);
    assert_eq!((status, &renamed[0]["alias"]), (200, &json!("rack7")));
    assert_eq!(mgmt.api("PATCH", "/targets/101", r#"{"alias":"fast"}"#).1[0]["alias"], "fast");
    let (status, pools) = mgmt.api("POST", "/pools", r#"{"alias":"flash"}"#);
    assert_eq!((status, &pools[1]), (200, &json!({"id": 2, "alias": "flash", "targets": []})));
    assert_eq!(mgmt.api("PATCH", "/pools/2", r#"{"alias":"nvme"}"#).1[1]["alias"], "nvme");
    assert_eq!(mgmt.api("PUT", "/pools/2/targets/101", "").1[1]["targets"], json!([101]));
    let (status, busy) = mgmt.api("DELETE", "/pools/2", "");
    assert_eq!((status, &busy["code"]), (409, &json!("conflict")), "{busy}");
    assert_eq!(mgmt.api("PUT", "/pools/1/targets/101", "").0, 200);
    assert_eq!(mgmt.api("DELETE", "/pools/2", "").1, json!([{"id": 1, "alias": "default", "targets": [101]}]));
    assert_eq!(mgmt.api("DELETE", "/pools/2", "").0, 404);
    let (status, bad) = mgmt.api("POST", "/targets/101/state", r#"{"consistency":"bad"}"#);
    assert_eq!((status, &bad[0]["consistency"]), (200, &json!("bad")));
    let (_, health) = mgmt.api("GET", "/health", "");
    assert_eq!(health["status"], "down", "the only storage target is bad: {health}");
    assert_eq!(mgmt.api("POST", "/targets/101/state", r#"{"consistency":"good"}"#).0, 200);

    let mut settings = cluster["settings"].clone();
    settings["default_pattern"]["num_targets"] = json!(7);
    settings["placement"] = json!("round-robin");
    let (status, now) = mgmt.api("PUT", "/settings", &settings.to_string());
    assert_eq!((status, &now), (200, &settings));
    let map = map(&mgmt.client()).await;
    assert_eq!(map.settings.default_pattern.num_targets, 7);

    // What was changed is still so after a restart.
    mgmt.stop();
    let mgmt = Running::start(config(dir.path()));
    assert_eq!(mgmt.api("GET", "/cluster", "").1["settings"], settings);
    assert_eq!(mgmt.api("GET", "/nodes", "").1[2]["alias"], "rack7");
}

#[tokio::test]
async fn nonsense_gets_a_status_and_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let settings = mgmt.api("GET", "/cluster", "").1["settings"].clone();
    let mut bad = settings.clone();
    bad["default_pattern"]["chunk_bytes"] = json!(1000);
    let mut unknown = settings.clone();
    unknown["surprise"] = json!(1);
    let cases = [
        ("PUT", "/settings", bad.to_string(), 400, "invalid"),
        ("PUT", "/settings", unknown.to_string(), 400, "invalid"),
        ("PUT", "/settings", "{".to_owned(), 400, "invalid"),
        ("DELETE", "/mgmt/1", String::new(), 400, "invalid"),
        ("DELETE", "/mgmt/one", String::new(), 400, "invalid"),
        ("PATCH", "/nodes/99", r#"{"alias":"x"}"#.to_owned(), 404, "not_found"),
        ("PATCH", "/nodes/abc", r#"{"alias":"x"}"#.to_owned(), 400, "invalid"),
        ("PATCH", "/nodes/1", r#"{"alias":"7"}"#.to_owned(), 400, "invalid"),
        ("POST", "/targets/5/state", r#"{"consistency":"bad"}"#.to_owned(), 404, "not_found"),
        ("POST", "/targets/5/state", r#"{"consistency":"fine"}"#.to_owned(), 400, "invalid"),
        ("GET", "/nowhere", String::new(), 404, "no_such_path"),
        ("DELETE", "/settings", String::new(), 405, "no_such_method"),
    ];
    for (method, path, body, status, code) in cases {
        let (got, answer) = mgmt.api(method, path, &body);
        assert_eq!((got, &answer["code"]), (status, &json!(code)), "{method} {path} {body}: {answer}");
        assert!(answer["message"].as_str().is_some_and(|m| !m.is_empty()));
    }
    assert_eq!(mgmt.api("GET", "/cluster", "").1["settings"], settings, "nothing changed");
}

#[tokio::test]
async fn mirror_groups_are_made_ordered_about_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let ports: Vec<_> = (0..2).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    register(&mgmt.client(), storage(2, &[21, 22], ports[0].local_addr().unwrap())).await;
    register(&mgmt.client(), storage(3, &[31, 32], ports[1].local_addr().unwrap())).await;

    let (status, auto) = mgmt.api("POST", "/groups/auto", r#"{"kind":"storage","members":3}"#);
    assert_eq!((status, &auto["code"]), (400, &json!("invalid")), "two nodes make no groups of three: {auto}");
    let (status, made) = mgmt.api("POST", "/groups", r#"{"id":7,"kind":"storage","members":[101,103]}"#);
    assert_eq!((status, &made[0]["id"], &made[0]["members"][0]["target"]), (200, &json!(7), &json!(101)), "{made}");
    let (status, taken) = mgmt.api("POST", "/groups", r#"{"kind":"storage","members":[101,104]}"#);
    assert_eq!((status, &taken["code"]), (409, &json!("conflict")), "{taken}");
    assert!(taken["message"].as_str().unwrap().contains("mirror group 7"), "{taken}");
    let (status, all) = mgmt.api("POST", "/groups/auto", r#"{"kind":"storage"}"#);
    assert_eq!((status, all.as_array().map(Vec::len)), (200, Some(2)), "{all}");

    let (status, stopped) = mgmt.api("POST", "/groups/7/resync", r#"{"stopped":true}"#);
    assert_eq!((status, &stopped[0]["resync_stopped"]), (200, &json!(true)));
    let (status, led) = mgmt.api("POST", "/groups/7/primary", r#"{"target":103}"#);
    assert_eq!((status, &led[0]["members"][0]["target"]), (200, &json!(103)), "{led}");
    assert_eq!(mgmt.api("POST", "/groups/99/primary", r#"{"target":103}"#).0, 404);
    assert_eq!(mgmt.api("DELETE", "/groups/99", r#"{"content_gone":true}"#).0, 404);
    assert_eq!(mgmt.api("DELETE", "/groups/7", r#"{"content_gone":false}"#).0, 409);
    let (status, left) = mgmt.api("DELETE", "/groups/7", r#"{"content_gone":true}"#);
    assert_eq!((status, left.as_array().map(Vec::len)), (200, Some(1)), "{left}");
}

/// Half a header is not waited for for ever, many of them keep nobody out, and the native protocol's port does not notice.
#[tokio::test]
async fn half_headers_keep_nobody_out() {
    use std::io::{Read, Write};
    use std::time::{Duration, Instant};
    nyala_transport::process::raise_descriptor_limit();
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    mgmt.api("GET", "/cluster", "");
    let mut held = Vec::new();
    for _ in 0..1200 {
        let mut stream = std::net::TcpStream::connect(mgmt.rest).unwrap();
        // It may have given way already.
        let _ = stream.write_all(b"GET /api/v1/cluster HTTP/1.1\r\nHost:");
        held.push(stream);
    }
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(mgmt.api("GET", "/cluster", "").0, 200);
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
    map(&mgmt.client()).await;
    // All of them go: most for others, the last ones in their own time.
    let began = Instant::now();
    for mut stream in held {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        let waits = matches!(&ended, Err(e) if e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waits, "held after {:?}", began.elapsed());
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}
