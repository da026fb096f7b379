// SPDX-License-Identifier: Apache-2.0

//! What is left out, and what a run says.

use super::*;

#[test]
fn what_is_not_needed_goes() {
    let of = Numbers { accidents: 40, clients: 3, operations: vec![(0, 300), (1, 300), (2, 300)] };
    let mut runs = 0;
    let mut fails = |without: &Without| {
        runs += 1;
        let needed = without.has_client(1) && without.has_client(2) && without.has_accident(17);
        needed && [3, 4, 299].iter().all(|number| without.has_operation(2, *number))
    };
    let left = shrink(Without::default(), &of, &mut fails);
    assert!(runs < 150, "{runs}");
    assert_eq!(
        left.to_string(),
        "--without accidents:0-16,18-39 --without clients:0 --without operations-of-1:0-299 \
         --without operations-of-2:0-2,5-298"
    );
}

#[test]
fn a_run_is_read() {
    let said = Said::parse(
        "FINDING seed 7: nothing stale is read: 5\nCOUNT 3 x\nPLAN accidents 4\nPLAN operations-of-2 300\nEND",
        true,
    );
    assert!(said.has("nothing stale is read") && !said.has("exactly once"));
    assert_eq!((said.accidents, &said.operations[..]), (4, &[(2, 300)][..]));
    assert!(Said::parse("", true).has("the run did not end") && Said::parse("", false).findings.is_empty());
}
