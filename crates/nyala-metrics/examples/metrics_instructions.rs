// SPDX-License-Identifier: Apache-2.0

//! Counts something a number of times, as services do for each request, so that an instruction counter can tell what it costs:
//! `scripts/instructions` runs this under callgrind and compares with the counts that are stored.
//!
//! `metrics_instructions` lists what is counted; `metrics_instructions NAME TIMES` does one.

use nyala_metrics::busiest::{Busiest, is_sampled};
use nyala_metrics::{ByAddress, ByKey, ByUser, Counter, Counters, Requests};
use std::cell::Cell;
use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

const NAMES: [&str; 5] =
    ["metrics-server-request", "metrics-meta-request", "metrics-mount-request", "metrics-clock", "metrics-busiest"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, times] = &args[..] else { return NAMES.iter().for_each(|name| println!("{name}")) };
    let times: u64 = times.parse().expect("a number of times");
    let (requests, clients, users) = (Requests::new(vec!["op"; 60]), ByAddress::<3>::default(), ByKey::<1>::default());
    let (meta_clients, meta_users) = (ByAddress::<1>::default(), ByUser::<2>::default());
    let (arrived, bytes) = (Counters::new(64), Counter::default());
    let (files, volume, next) = (Busiest::default(), Busiest::default(), Cell::new(0u64));
    let address: IpAddr = [10, 1, 2, 3].into();
    let (op, time) = (black_box(7), black_box(Duration::from_micros(35)));
    let what = NAMES.iter().position(|name| name == what).expect("one of the names");
    let one = || match what {
        // What a storage service counts of a write.
        0 => {
            requests.answered(op, time, false);
            clients.add(black_box(address), [1, 0, black_box(4096)]);
        }
        // What a metadata service counts of a change, which has a user and no bytes.
        1 => {
            requests.answered(op, time, false);
            meta_clients.add(black_box(address), [1]);
            meta_users.add(black_box(Some(1000)), [1, black_box(1)]);
        }
        2 => {
            arrived.add(op, 1);
            users.add(black_box(1000), [1]);
            bytes.add(black_box(4096));
            requests.answered(op, time, false);
        }
        // Beside what is counted: a request's time takes two looks at the clock.
        3 => {
            let began = Instant::now();
            black_box(began.elapsed());
        }
        // Files that are used in turn, more than have places: the dearest case.
        _ => {
            let file = next.get();
            next.set(file.wrapping_add(1) % 1000);
            if is_sampled() {
                files.add(0, file, 1, 0);
                volume.add(0, file, 4096, 4096);
            }
        }
    };
    // All places are taken, as of a service that has run for a while; each of the files that come is new.
    (1000..1300).for_each(|file| {
        files.add(0, file, 1, 0);
        volume.add(0, file, 4096, 4096);
    });
    // The first one makes the cells.
    one();
    (0..times).for_each(|_| one());
}
