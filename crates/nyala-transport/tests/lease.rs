// SPDX-License-Identifier: Apache-2.0

//! Every order of the steps of a heartbeat, a request and a shutdown on one lease, with what the memory model lets each load see.

/// What the code under test takes for the standard library's atomics.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../src/member/lease.rs"]
#[allow(dead_code, reason = "the crate uses all of it")]
mod lease;

use lease::Lease;
use loom::sync::Arc;
use loom::thread;
use nyala_wire::MapVersion;
use std::sync::atomic::{AtomicU32 as Counter, Ordering::Relaxed};

/// A lease of 3 s that was acknowledged under map 1 at time 1; two thirds of it count.
fn granted() -> Arc<Lease> {
    let lease = Arc::new(Lease::default());
    lease.renew(0, 1, 3000, MapVersion(1));
    lease
}

#[test]
fn who_sees_a_renewal_sees_its_map_and_its_period() {
    // Of the standard library: counts over all orders.
    let (orders, renewed) = (Counter::new(0), Counter::new(0));
    let counts = std::sync::Arc::new((orders, renewed));
    let counted = counts.clone();
    loom::model(move || {
        let lease = granted();
        let request = {
            let (lease, counts) = (lease.clone(), counted.clone());
            thread::spawn(move || {
                let (until, version) = lease.until();
                let period = lease.period();
                counts.0.fetch_add(1, Relaxed);
                match until {
                    2000 => {}
                    7000 => {
                        counts.1.fetch_add(1, Relaxed);
                        assert_eq!((version, period), (MapVersion(2), 2), "older than the time that was seen");
                    }
                    other => panic!("nobody granted a lease until {other}"),
                }
            })
        };
        // The first one was over at 2000.
        lease.renew(5000, 5001, 3000, MapVersion(2));
        request.join().unwrap();
        assert_eq!((lease.until(), lease.period()), ((7000, MapVersion(2)), 2));
    });
    let (orders, renewed) = (counts.0.load(Relaxed), counts.1.load(Relaxed));
    println!("{orders} orders of the steps, in {renewed} of them the request saw the renewal");
    assert!(renewed > 0 && orders > renewed, "{renewed} of {orders}");
}

#[test]
fn an_ended_lease_stays_ended_whatever_is_acknowledged_meanwhile() {
    loom::model(|| {
        let lease = granted();
        let others = [(500, 501), (900, 901)].map(|(sent, now)| {
            let lease = lease.clone();
            thread::spawn(move || lease.renew(sent, now, 3000, MapVersion(2)))
        });
        lease.end();
        assert_eq!(lease.left_ms(0), 0, "right after its end");
        others.into_iter().for_each(|renewal| renewal.join().unwrap());
        assert_eq!((lease.left_ms(0), lease.until().0), (0, 0), "after all acknowledgements");
    });
}
