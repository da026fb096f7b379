// SPDX-License-Identifier: Apache-2.0

//! One phase: a thread at either end of each connection, and the CPU time of each side.
//!
//! **Failure model.** The machine may have no loopback interface, no free port or no more threads: an error with the system's words. A
//! thread that fails closes its connection, which ends the one at the other end; the error that is told is the cause, not its consequence.
//! Another program may connect to the port: its connection is not used.

use super::error::FloorError;
use super::files::Store;
use super::layout::{Assignment, Sizes};
use super::load::{Driven, Terms, drive};
use super::service::serve;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing that either end waits for takes so long.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// What a phase did.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Transfers, of each connection.
    pub ops: Vec<u64>,
    /// CPU time of all threads of the storage side, microseconds.
    pub storage_us: u64,
    /// CPU time of all threads of the client's side, microseconds.
    pub client_us: u64,
    /// Wall time, the sync at the end included.
    pub took: Duration,
}

/// Both ends of a connection.
fn pair() -> Result<(TcpStream, TcpStream), FloorError> {
    let refused = || FloorError::io("cannot connect over the loopback interface");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused())?;
    let client = TcpStream::connect(listener.local_addr().map_err(refused())?).map_err(refused())?;
    let (server, from) = listener.accept().map_err(refused())?;
    if from != client.local_addr().map_err(refused())? {
        return Err(FloorError::Stranger);
    }
    for stream in [&client, &server] {
        stream.set_nodelay(true).map_err(refused())?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(refused())?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).map_err(refused())?;
    }
    Ok((client, server))
}

/// Runs a phase to its end; `share` says what a connection does.
pub fn run(
    sizes: &Sizes,
    stores: &mut [Store],
    share: impl Fn(usize) -> Assignment,
    terms: &Terms<'_>,
) -> Result<Done, FloorError> {
    let pairs: Vec<_> = (0..sizes.connections).map(|_| pair()).collect::<Result<_, _>>()?;
    let shares: Vec<Assignment> = (0..sizes.connections).map(share).collect();
    let began = Instant::now();
    let (served, driven) = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(pairs.len());
        for ((store, share), (client, server)) in stores.iter_mut().zip(&shares).zip(pairs) {
            let start = |name: &str| thread::Builder::new().name(name.to_owned());
            let refused = || FloorError::io("cannot start a thread");
            // Where the second does not start, its end of the connection is dropped, which ends the first.
            let serving = start("floor-storage").spawn_scoped(scope, move || serve(server, store, share));
            let driving = start("floor-client").spawn_scoped(scope, move || drive(client, share, terms));
            threads.push((serving.map_err(refused())?, driving.map_err(refused())?));
        }
        let (mut served, mut driven) = (Vec::new(), Vec::new());
        for (serving, driving) in threads {
            driven.push(driving.join().unwrap_or(Err(FloorError::Died)));
            served.push(serving.join().unwrap_or(Err(FloorError::Died)));
        }
        Ok::<_, FloorError>((served, driven))
    })?;
    let took = began.elapsed();
    let (served, driven) = sound(served, driven)?;
    Ok(Done {
        ops: driven.iter().map(|one| one.ops).collect(),
        storage_us: served.iter().sum(),
        client_us: driven.iter().map(|one| one.cpu_us).sum(),
        took,
    })
}

/// All results, or the error that caused the others.
fn sound(
    served: Vec<Result<u64, FloorError>>,
    driven: Vec<Result<Driven, FloorError>>,
) -> Result<(Vec<u64>, Vec<Driven>), FloorError> {
    let (mut errors, mut both) = (Vec::new(), (Vec::new(), Vec::new()));
    served.into_iter().for_each(|one| one.map_or_else(|error| errors.push(error), |us| both.0.push(us)));
    driven.into_iter().for_each(|one| one.map_or_else(|error| errors.push(error), |one| both.1.push(one)));
    let cause = errors.iter().position(|error| !error.is_aftermath()).unwrap_or(0);
    if errors.is_empty() { Ok(both) } else { Err(errors.swap_remove(cause)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_told_and_not_what_followed() {
        let damaged = FloorError::DamagedOnTheWay { file: 1, offset: 2 };
        let error = sound(vec![Ok(3), Err(damaged)], vec![Err(FloorError::Closed)]).unwrap_err();
        assert!(matches!(error, FloorError::DamagedOnTheWay { .. }), "{error}");
        assert!(matches!(sound(vec![Err(FloorError::Closed)], vec![]), Err(FloorError::Closed)));
        let (served, driven) = sound(vec![Ok(3)], vec![Ok(Driven { ops: 4, cpu_us: 5 })]).unwrap();
        assert_eq!((served, driven[0].ops), (vec![3], 4));
    }
}
