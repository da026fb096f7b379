// SPDX-License-Identifier: Apache-2.0

//! What loopback TCP gives on this machine, with two blocking threads and nothing else: the limit to compare with.
//!
//! **Failure model.** The machine may have no loopback interface or no free port: that is an error with the system's
//! words. Both threads end when the other's end of the connection does.

use super::cpu::thread_us;
use super::latency::{Latency, Percentiles};
use serde::{Deserialize, Serialize};
use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a message each way.
const MESSAGE: usize = 128;
/// Bytes of a piece of a stream.
const PIECE: usize = 1 << 20;

/// Figures of loopback TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loopback {
    /// Round trips per second, 128 bytes each way, one at a time.
    pub round_trips_per_s: f64,
    /// Latency of a round trip, microseconds.
    pub round_trip_us: Percentiles,
    /// CPU time of both sides for a round trip, microseconds.
    pub round_trip_cpu_us: f64,
    /// Stream of 1 MiB pieces one way, GiB per second.
    pub stream_gib_per_s: f64,
    /// CPU time of both sides, seconds per GiB.
    pub stream_cpu_s_per_gib: f64,
}

fn pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let server = listener.accept()?.0;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    Ok((client, server))
}

/// Serves until the other end closes; its thread's CPU time.
fn echo(mut server: TcpStream) -> u64 {
    let before = thread_us();
    let mut message = [0; MESSAGE];
    while server.read_exact(&mut message).and_then(|()| server.write_all(&message)).is_ok() {}
    thread_us() - before
}

fn swallow(mut server: TcpStream) -> u64 {
    let before = thread_us();
    let mut piece = vec![0; PIECE];
    while server.read(&mut piece).is_ok_and(|got| got > 0) {}
    thread_us() - before
}

/// Sends while time lasts; pieces sent, wall time, CPU of both sides in microseconds.
fn drive(
    time: Duration,
    serve: fn(TcpStream) -> u64,
    mut step: impl FnMut(&mut TcpStream) -> Result<()>,
) -> Result<(u64, Duration, u64)> {
    let (mut client, server) = pair()?;
    let serving = thread::spawn(move || serve(server));
    let (before, began, mut count) = (thread_us(), Instant::now(), 0);
    let mut result = Ok(());
    while result.is_ok() && began.elapsed() < time {
        result = step(&mut client);
        count += 1;
    }
    drop(client);
    let server_us = serving.join().unwrap_or(0);
    let took = began.elapsed();
    result.map(|()| (count, took, thread_us() - before + server_us))
}

/// Measures for twice this time.
pub fn measure(time: Duration) -> Result<Loopback> {
    let mut latency = Latency::default();
    let (trips, trips_took, trips_us) = drive(time, echo, |client| {
        let (start, mut message) = (Instant::now(), [7; MESSAGE]);
        client.write_all(&message)?;
        client.read_exact(&mut message)?;
        latency.record(start.elapsed());
        Ok(())
    })?;
    let piece = vec![7; PIECE];
    let (pieces, stream_took, stream_us) = drive(time, swallow, |client| client.write_all(&piece))?;
    let gib = pieces as f64 * PIECE as f64 / (1u64 << 30) as f64;
    Ok(Loopback {
        round_trips_per_s: trips as f64 / trips_took.as_secs_f64(),
        round_trip_us: latency.percentiles(),
        round_trip_cpu_us: trips_us as f64 / trips as f64,
        stream_gib_per_s: gib / stream_took.as_secs_f64(),
        stream_cpu_s_per_gib: stream_us as f64 / 1e6 / gib,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_measurement_gives_sensible_figures() {
        let got = measure(Duration::from_millis(50)).unwrap();
        assert!(got.round_trips_per_s > 100.0 && got.round_trip_cpu_us > 0.5, "{got:?}");
        assert!(got.stream_gib_per_s > 0.05 && got.stream_cpu_s_per_gib > 0.01, "{got:?}");
        assert!(got.round_trip_us.p50 <= got.round_trip_us.max);
    }
}
