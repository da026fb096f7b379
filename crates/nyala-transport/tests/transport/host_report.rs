// SPDX-License-Identifier: Apache-2.0

//! Reports of a host: for operators only, one at a time, in pieces.

use crate::common::*;
use nyala_transport::host_report::{HostReporter, HostReports};
use nyala_transport::{Connection, Request, Role, ServerOptions};
use nyala_wire::host_report::{HostReportReply, HostReportRequest, REPORT_PIECE_BYTES};
use nyala_wire::message_type::HOST_REPORT;
use nyala_wire::{ErrorCode, WireError, codec};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// Three pieces and a little.
const LENGTH: usize = 3 * REPORT_PIECE_BYTES + 7;

/// Makes a report when it is let, and remembers how much was asked for.
struct Reporter {
    go_on: Mutex<mpsc::Receiver<()>>,
    most: AtomicU64,
}

impl HostReporter for Reporter {
    fn host(&self) -> String {
        "host1".to_owned()
    }

    fn make(&self, log_bytes: u64, most_bytes: u64) -> Result<Vec<u8>, String> {
        self.most.store(most_bytes, Ordering::SeqCst);
        self.go_on.lock().expect("no panic").recv().expect("the test goes on");
        if log_bytes == 0 { Err("there are no logs".to_owned()) } else { Ok(report()) }
    }
}

fn report() -> Vec<u8> {
    (0..LENGTH).map(|at| (at / 1000) as u8).collect()
}

async fn ask(connection: &Connection, asked: HostReportRequest) -> Result<(HostReportReply, Vec<u8>), WireError> {
    let reply = connection.call(Request::new(HOST_REPORT, codec::encode(&asked))).await.expect("an answer");
    if reply.is_error() {
        return Err(codec::decode(&reply.body).expect("an error"));
    }
    Ok((codec::decode(&reply.body)?, reply.payload.to_vec()))
}

const MAKE: HostReportRequest = HostReportRequest::Make { log_bytes: 1, most_bytes: u64::MAX };

#[tokio::test]
async fn an_operator_gets_a_report_in_pieces_and_nobody_else_gets_any() {
    let (let_go, go_on) = mpsc::channel();
    let reporter = Arc::new(Reporter { go_on: Mutex::new(go_on), most: AtomicU64::new(0) });
    let host_reports = Some(HostReports::by(reporter.clone()));
    let server = start(config(Role::Storage), ServerOptions { host_reports, ..ServerOptions::default() });
    for role in [Role::Client, Role::Meta, Role::Storage, Role::Mgmt, Role::Mon, Role::Other] {
        let other = Connection::connect(server.address, &config(role)).await.expect("connected");
        for asked in [HostReportRequest::Who, MAKE, HostReportRequest::Piece { report: 1, offset: 0 }] {
            let code = ask(&other, asked).await.expect_err("refused").code;
            assert_eq!(code, ErrorCode::UNAUTHORIZED, "{role:?}");
        }
    }
    let operator = Connection::connect(server.address, &config(Role::Cli)).await.expect("connected");
    assert_eq!(ask(&operator, HostReportRequest::Who).await.expect("said").0.host, "host1");
    // A second one is not made beside the first.
    let (first, second) = tokio::join!(ask(&operator, MAKE), async {
        let second = ask(&operator, MAKE).await;
        let_go.send(()).expect("it waits");
        second
    });
    assert_eq!(second.expect_err("refused").code, ErrorCode::BUSY);
    let (made, _) = first.expect("made");
    assert_eq!((made.bytes, reporter.most.load(Ordering::SeqCst)), (LENGTH as u64, 64 << 20));
    let mut got = Vec::new();
    while got.len() < LENGTH {
        let piece = HostReportRequest::Piece { report: made.report, offset: got.len() as u64 };
        let (_, piece) = ask(&operator, piece).await.expect("a piece");
        assert!((1..=REPORT_PIECE_BYTES).contains(&piece.len()));
        got.extend(piece);
    }
    assert!(got == report());
    let piece = |report, offset| ask(&operator, HostReportRequest::Piece { report, offset });
    assert_eq!(piece(made.report, u64::MAX).await.expect_err("refused").code, ErrorCode::INVALID);
    assert_eq!(piece(made.report + 1, 0).await.expect_err("refused").code, ErrorCode::NOT_FOUND);
    // One that cannot be made says why, and the one before is gone.
    let_go.send(()).expect("it waits");
    let failed = ask(&operator, HostReportRequest::Make { log_bytes: 0, most_bytes: 1 }).await.expect_err("it fails");
    assert_eq!((failed.code, failed.message.as_str()), (ErrorCode::IO, "there are no logs"));
    assert_eq!(piece(made.report, 0).await.expect_err("refused").code, ErrorCode::NOT_FOUND);
}

#[tokio::test]
async fn a_program_that_makes_none_says_so() {
    let server = start(config(Role::Storage), ServerOptions::default());
    let operator = Connection::connect(server.address, &config(Role::Cli)).await.expect("connected");
    assert_eq!(ask(&operator, MAKE).await.expect_err("none").code, ErrorCode::UNKNOWN_MESSAGE);
}
