// SPDX-License-Identifier: Apache-2.0

//! Spans of a made-up operation, and a collector that gets them.

use super::*;
use crate::command::trace_table::PassedOn;
use crate::role::block_on;
use nyala_mon::{Url, otlp};
use std::io::{Read, Write};
use std::net::TcpListener;

fn operation() -> Operation {
    let part = |name: &str, us| Part { name: name.to_owned(), us };
    let asked = |at_us, network_us, parts| Asked {
        service: "storage1".to_owned(),
        message: "write".to_owned(),
        at_us,
        us: 50.0,
        network_us,
        parts,
    };
    let passed = PassedOn {
        service: "storage2".to_owned(),
        asked_by: "storage1".to_owned(),
        message: "mirrors' change".to_owned(),
        us: 10.0,
        parts: vec![part("own copy", 10.0)],
    };
    Operation {
        operation: "fsync".to_owned(),
        trace: format!("{:032x}", 77),
        began_unix_ns: 1_000_000_000,
        followed: 1,
        whole_us: 100.0,
        queue_us: 5.0,
        client_us: 5.0,
        requests: vec![
            asked(5.0, Some(20.0), vec![part("disk", 10.0), part("mirrors", 20.0)]),
            asked(55.0, None, vec![]),
        ],
        passed_on: vec![passed],
    }
}

/// All spans with the names of their services.
fn all(request: &Value) -> Vec<(String, Value)> {
    let resources = request["resourceSpans"].as_array().unwrap().iter();
    let of = |resource: &Value| {
        let service = resource["resource"]["attributes"][0]["value"]["stringValue"].as_str().unwrap().to_owned();
        let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        spans.into_iter().map(|span| (service.clone(), span)).collect::<Vec<_>>()
    };
    resources.flat_map(of).collect()
}

#[test]
fn each_part_has_a_span_below_what_it_is_a_part_of() {
    let all = all(&spans([operation()].iter()));
    let find = |service: &str, name: &str| {
        let found = all.iter().find(|(of, span)| of == service && span["name"] == name);
        found.unwrap_or_else(|| panic!("{service} {name}: {all:#?}")).1.clone()
    };
    let time = |span: &Value, end: &str| span[end].as_str().unwrap().parse::<u64>().unwrap() - 1_000_000_000;
    let times = |span: &Value| (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
    let (whole, call) = (find("nyala-client", "fsync"), find("nyala-client", "write"));
    let (server, disk) = (find("storage1", "write"), find("storage1", "disk"));
    let (mirrors, member) = (find("storage1", "mirrors"), find("storage2", "mirrors' change"));
    assert_eq!([&whole, &call, &server].map(times), [(0, 100_000), (5_000, 55_000), (15_000, 45_000)]);
    assert_eq!([&disk, &mirrors, &member].map(times), [(15_000, 25_000), (25_000, 45_000), (15_000, 25_000)]);
    assert_eq!(whole["parentSpanId"], "");
    for (below, above) in [(&call, &whole), (&server, &call), (&disk, &server), (&mirrors, &server), (&member, &server)]
    {
        assert_eq!(below["parentSpanId"], above["spanId"]);
    }
    assert_eq!((all.len(), find("nyala-client", "queue")["kind"].as_u64()), (9, Some(1)));
    let mut ids: Vec<&str> = all.iter().map(|(_, span)| span["spanId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() == all.len() && ids.iter().all(|id| id.len() == 16), "{ids:?}");
    assert!(all.iter().all(|(_, span)| span["traceId"] == format!("{:032x}", 77)));
}

/// Takes one request, and answers it with this.
fn collector(status: &str, said: &str) -> (Url, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let reply = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{said}", said.len());
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let len = stream.read(&mut buffer).unwrap();
            got.extend_from_slice(&buffer[..len]);
            let text = String::from_utf8_lossy(&got).to_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                break;
            }
        }
        stream.write_all(reply.as_bytes()).unwrap();
        String::from_utf8(got).unwrap()
    };
    (url, std::thread::spawn(serve))
}

#[test]
fn a_collector_gets_what_is_sent_and_what_it_says_is_heard() {
    let request = spans([operation()].iter());
    let send = |url: &Url| block_on(async { Ok(otlp::send(url, &request).await) }).unwrap();
    let (url, got) = collector("200 OK", "{}");
    assert_eq!(send(&url), Ok(()));
    let got = got.join().unwrap();
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), request);
    let partly = r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#;
    for (status, said, word) in [("503 Busy", "later", "503"), ("200 OK", partly, "too old")] {
        let (url, got) = collector(status, said);
        let why = send(&url).unwrap_err();
        assert!(why.contains(word), "{why}");
        got.join().unwrap();
    }
    let gone = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()).parse().unwrap();
    assert!(send(&gone).is_err());
}
