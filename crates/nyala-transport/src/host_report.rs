// SPDX-License-Identifier: Apache-2.0

//! Reports about the host of a service, for operators: the connection layer hands them out, the program makes them.
//!
//! **Failure model.** Making one may take long or hang on a dead disk: that is a thread of its own, one at a time for the process, and whoever asks
//! meanwhile hears `BUSY`. A report is bounded by who makes it ([`HostReporter`]) and kept for [`RETENTION`] at most, one for the process. Who is no operator hears
//! `UNAUTHORIZED`, whatever is asked; a program that makes no reports, and one of an older version, `UNKNOWN_MESSAGE`.

use crate::handshake::{PeerInfo, Role};
use crate::request::Reply;
use bytes::Bytes;
use nyala_wire::frame::Frame;
use nyala_wire::host_report::{HostReportReply, HostReportRequest, MAX_REPORT_BYTES, REPORT_PIECE_BYTES};
use nyala_wire::{ErrorCode, WireError, codec};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// For so long a report can be had.
const RETENTION: Duration = Duration::from_secs(120);

/// Makes reports.
pub trait HostReporter: Send + Sync {
    /// Names the host: the same for all services of it that would report the same.
    fn host(&self) -> String;
    /// Makes a report of at most so many bytes before it is compressed, with the newest bytes of each log; or says why it cannot. May take long.
    fn make(&self, log_bytes: u64, most_bytes: u64) -> Result<Vec<u8>, String>;
}

/// The reports of a process.
pub struct HostReports {
    reporter: Arc<dyn HostReporter>,
    making: Arc<Semaphore>,
    /// The last one: its number, when it was made, and itself.
    last: Mutex<Option<(u64, Instant, Bytes)>>,
}

impl std::fmt::Debug for HostReports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostReports").finish_non_exhaustive()
    }
}

static OFFERED: OnceLock<Arc<HostReports>> = OnceLock::new();

impl HostReports {
    /// Reports that this makes.
    pub fn by(reporter: Arc<dyn HostReporter>) -> Arc<HostReports> {
        Arc::new(HostReports { reporter, making: Arc::new(Semaphore::new(1)), last: Mutex::default() })
    }

    /// From now on servers of this process hand out reports that this makes. The first who says so makes them.
    pub fn offer(reporter: Arc<dyn HostReporter>) {
        // Whoever comes later reports of the same host.
        let _ = OFFERED.set(HostReports::by(reporter));
    }

    /// What this process offers.
    pub fn offered() -> Option<Arc<HostReports>> {
        OFFERED.get().cloned()
    }

    async fn make(&self, log_bytes: u64, most_bytes: u64) -> Result<HostReportReply, WireError> {
        let busy = |_| ErrorCode::BUSY.with("a report of this host is being made");
        let making = self.making.clone().try_acquire_owned().map_err(busy)?;
        self.last.lock().take();
        let (reporter, (done, made)) = (self.reporter.clone(), oneshot::channel());
        let make = move || {
            // Nobody may wait any more.
            let _ = done.send(reporter.make(log_bytes, most_bytes.min(MAX_REPORT_BYTES)));
            drop(making);
        };
        let failed = |why: String| ErrorCode::IO.with(why);
        let thread = std::thread::Builder::new().name("nyala-report".into()).spawn(make);
        thread.map_err(|error| failed(format!("cannot start a thread: {error}")))?;
        let made = made.await.map_err(|_| failed("making the report failed; the log says why".to_owned()))?;
        let report = Bytes::from(made.map_err(failed)?);
        let (number, bytes) = (number(), report.len() as u64);
        *self.last.lock() = Some((number, Instant::now(), report));
        Ok(HostReportReply { host: self.reporter.host(), report: number, bytes })
    }

    fn piece(&self, report: u64, offset: u64) -> Result<(HostReportReply, Bytes), WireError> {
        let mut last = self.last.lock();
        last.take_if(|(_, made, _)| made.elapsed() > RETENTION);
        let Some((number, _, bytes)) = last.as_ref().filter(|(number, ..)| *number == report) else {
            return Err(ErrorCode::NOT_FOUND.with("there is no such report any more"));
        };
        let from = usize::try_from(offset).ok().filter(|from| *from <= bytes.len());
        let from = from.ok_or_else(|| ErrorCode::INVALID.with("the report is shorter than that"))?;
        let piece = bytes.slice(from..bytes.len().min(from.saturating_add(REPORT_PIECE_BYTES)));
        Ok((HostReportReply { host: String::new(), report: *number, bytes: bytes.len() as u64 }, piece))
    }
}

/// A number that no other report of this host has, also after a restart.
fn number() -> u64 {
    let time = crate::wall_clock();
    (time.seconds.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.nanos.into())).max(1)
}

/// Answers a HOST_REPORT.
pub(crate) async fn answer(peer: &PeerInfo, request: &Frame, reports: Option<&Arc<HostReports>>) -> Reply {
    let answered = async {
        if peer.role != Role::Cli {
            return Err(ErrorCode::UNAUTHORIZED.with("only an operator's command gets reports of hosts"));
        }
        let reports = reports.ok_or_else(|| ErrorCode::UNKNOWN_MESSAGE.with("this program makes no reports"))?;
        Ok(match codec::decode(&request.body)? {
            HostReportRequest::Who => {
                (HostReportReply { host: reports.reporter.host(), ..HostReportReply::default() }, Bytes::new())
            }
            HostReportRequest::Make { log_bytes, most_bytes } => {
                (reports.make(log_bytes, most_bytes).await?, Bytes::new())
            }
            HostReportRequest::Piece { report, offset } => reports.piece(report, offset)?,
        })
    };
    match answered.await {
        Ok((reply, piece)) => {
            let payload = Some(piece).filter(|piece| !piece.is_empty());
            Reply::ok(codec::encode::<HostReportReply>(&reply)).with_payload(payload.into_iter().collect())
        }
        Err(error) => Reply::error(codec::encode::<WireError>(&error)),
    }
}
