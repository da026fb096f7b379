// SPDX-License-Identifier: Apache-2.0

//! A scraper gets its page; strangers get no more than their share, whatever they do.

use nyala_metrics::catalog::Source;
use nyala_metrics::parse::parse;
use nyala_scrape::{Endpoint, process};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Serves pages on the calling thread while `test` runs on another; how many were made.
fn with_pages(test: impl FnOnce(SocketAddr) + Send + 'static) -> u32 {
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (address, made) = (endpoint.address(), Cell::new(0));
    let mut scrapes = endpoint.serve().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (done, ended) = tokio::sync::oneshot::channel();
    let thread = std::thread::spawn(move || {
        test(address);
        done.send(()).unwrap();
    });
    runtime.block_on(async {
        let page = |page: &mut nyala_metrics::Page| {
            made.set(made.get() + 1);
            process(page, Source::Mount);
        };
        tokio::select! {
            never = scrapes.answer(page) => match never {},
            // A failure of the test is said by the thread's end.
            _ = ended => {}
        }
    });
    thread.join().unwrap();
    made.get()
}

fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    // A connection that is cut has said what it had to say.
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8(reply).unwrap()
}

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn a_scraper_gets_a_page_and_nobody_anything_else() {
    with_pages(|address| {
        let reply = exchange(address, GET);
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"), "{head}");
        let families = parse(body).unwrap();
        assert!(families["process_cpu_seconds"].samples[0].value > 0.0);
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let started = families["process_start_time_seconds"].samples[0].value;
        assert!((0.0..600.0).contains(&(now - started)), "started at {started}, now is {now}");
        assert!(exchange(address, &GET.replace("/metrics", "/")).starts_with("HTTP/1.1 404"));
        assert!(exchange(address, &GET.replace("GET", "DELETE")).starts_with("HTTP/1.1 405"));
        let long = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(20_000));
        assert!(!exchange(address, &long).starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn pages_are_not_made_more_often_than_they_are_worth() {
    let began = Instant::now();
    let made = with_pages(|address| {
        for _ in 0..200 {
            assert!(exchange(address, GET).starts_with("HTTP/1.1 200"));
        }
    });
    let most = began.elapsed().as_millis() / 200 + 1;
    assert!(made >= 1 && u128::from(made) <= most, "{made} pages, at most {most}");
}

#[test]
fn strangers_that_say_nothing_do_not_keep_a_scraper_out() {
    with_pages(|address| {
        let silent: Vec<TcpStream> = (0..100)
            .map(|number| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(&b"GET /metr"[..number % 9]).unwrap();
                stream
            })
            .collect();
        let began = Instant::now();
        assert!(exchange(address, GET).starts_with("HTTP/1.1 200"));
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        drop(silent);
    });
}

#[test]
fn a_service_that_does_not_answer_is_unavailable_and_a_port_that_is_taken_is_said() {
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = endpoint.address();
    let taken = Endpoint::bind(address).unwrap_err().to_string();
    assert!(taken.contains(&address.to_string()) && taken.contains("--metrics"), "{taken}");
    let scrapes = endpoint.serve().unwrap();
    assert!(exchange(address, GET).starts_with("HTTP/1.1 503"));
    drop(scrapes);
    let deadline = Instant::now() + Duration::from_secs(5);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "the thread ends with its service");
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(10));
    }
}
