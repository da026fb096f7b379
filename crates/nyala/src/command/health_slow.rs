// SPDX-License-Identifier: Apache-2.0

//! Services with many slow operations, for `nyala health check`. Pure.

use nyala_transport::trace::LATELY_MINUTES;
use nyala_wire::NodeId;
use std::cmp::Reverse;

/// Fewer in the last minutes are not worth a line.
const MANY: u64 = 10;

/// The services with many, the most first; empty: none has.
pub fn shown(mut services: Vec<(&str, NodeId, u64)>) -> String {
    services.retain(|(.., count)| *count >= MANY);
    services.sort_by_key(|(.., count)| Reverse(*count));
    if services.is_empty() {
        return String::new();
    }
    let mut text = format!("Slow operations in the last {LATELY_MINUTES} minutes\n==========\n");
    for (alias, id, count) in services {
        text += &format!("{alias} [ID: {id}]: {count}; \"slow operation\" in its log says what each waited for\n");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_and_few_are_not_named() {
        let of = |counts: [u64; 3]| shown((1..).zip(counts).map(|(id, count)| ("n", NodeId(id), count)).collect());
        assert_eq!(of([0, MANY - 1, 0]), "");
        let text = of([MANY, 3, 4321]);
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(at("last 5 minutes") < at("[ID: 3]: 4321;") && at("[ID: 3]: 4321;") < at("[ID: 1]: 10;"), "{text}");
        assert!(!text.contains("[ID: 2]"), "{text}");
    }
}
