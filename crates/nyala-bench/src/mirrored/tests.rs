// SPDX-License-Identifier: Apache-2.0

//! Rounds of known figures.

use super::*;
use crate::report::tests::{report, row as row_of, servers};

fn round(plain_us: u64, first_us: u64, second_us: u64) -> (Report, Report) {
    let of = |us| row_of("easy", Step::Create, Backend::Native, 1000, 0, 0.5, servers(us, 0));
    let mut mirrored = of(first_us + second_us);
    mirrored.meta_each_us = vec![("meta1".into(), first_us), ("meta2".into(), second_us)];
    (report(vec![of(plain_us)]), report(vec![mirrored]))
}

#[test]
fn a_ratio_is_the_median_of_pairs() {
    let rounds = [round(20_000, 24_000, 16_000), round(10_000, 14_000, 8_000), round(20_000, 60_000, 40_000)];
    let found = compare(&rounds);
    let create = &found.operations[0];
    assert_eq!((create.ratio, create.least, create.most), (2.2, 2.0, 5.0));
    assert!((create.unmirrored_us - 50.0 / 3.0).abs() < 1e-9 && (create.rate - 1.0).abs() < 1e-9, "{create:?}");
    assert!((create.services_us["meta2"] - 64.0 / 3.0).abs() < 1e-9, "{create:?}");
    assert!(!found.aims[0].ok && found.aims[0].value == Some(2.2));
    assert!(found.operations.len() == 1 && found.aims.len() == 6 && found.aims[1].why.is_some());
    let text = found.document().plain();
    assert!(text.contains("meta1 32.7, meta2 21.3") && text.contains("MISS"), "{text}");
}
