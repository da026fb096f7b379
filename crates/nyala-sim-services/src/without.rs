// SPDX-License-Identifier: Apache-2.0

//! What of a seed's run is left out: accidents, clients and operations by their numbers. The rest stays as it would be, but for what
//! follows from it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The option that says it, once for each kind.
pub const OPTION: &str = "--without";

/// Numbers that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Without {
    pub accidents: BTreeSet<u64>,
    /// Places of clients, from 0 on: whoever has one after another.
    pub clients: BTreeSet<u64>,
    /// By the place of the client.
    pub operations: BTreeMap<u64, BTreeSet<u64>>,
}

impl Without {
    pub fn has_accident(&self, number: u64) -> bool {
        !self.accidents.contains(&number)
    }

    pub fn has_client(&self, place: u64) -> bool {
        !self.clients.contains(&place)
    }

    pub fn has_operation(&self, place: u64, number: u64) -> bool {
        !self.operations.get(&place).is_some_and(|numbers| numbers.contains(&number))
    }

    /// Takes up `accidents:0-3,7`, `clients:1` or `operations-of-2:0-99`.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (what, numbers) = text.split_once(':').ok_or(format!("{OPTION} {text}: say WHAT:NUMBERS"))?;
        let into = match (what, what.strip_prefix("operations-of-").map(str::parse)) {
            ("accidents", _) => &mut self.accidents,
            ("clients", _) => &mut self.clients,
            (_, Some(Ok(place))) => self.operations.entry(place).or_default(),
            _ => return Err(format!("{OPTION} {what}: use accidents, clients or operations-of-N")),
        };
        for range in numbers.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |word: &str| word.parse::<u64>().map_err(|error| format!("{OPTION} {text}: {error}"));
            let (first, last) = (number(first)?, number(last)?);
            if last.saturating_sub(first) > 1_000_000 {
                return Err(format!("{OPTION} {text}: that is more than a run has"));
            }
            into.extend(first..=last);
        }
        Ok(())
    }

    /// The words of a command line that say it.
    pub fn arguments(&self) -> Vec<String> {
        let operations = self.operations.iter().map(|(place, numbers)| (format!("operations-of-{place}"), numbers));
        let rest = [("accidents".to_owned(), &self.accidents), ("clients".to_owned(), &self.clients)];
        let parts = rest.into_iter().chain(operations).filter(|(_, numbers)| !numbers.is_empty());
        parts.flat_map(|(what, numbers)| [OPTION.to_owned(), format!("{what}:{}", ranges(numbers))]).collect()
    }
}

fn ranges(numbers: &BTreeSet<u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arguments().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let mut without = Without::default();
        for text in ["accidents:0-3,7", "clients:1", "operations-of-2:0-99,101"] {
            without.add(text).unwrap();
        }
        assert_eq!(
            without.to_string(),
            "--without accidents:0-3,7 --without clients:1 --without operations-of-2:0-99,101"
        );
        let mut again = Without::default();
        without.arguments().chunks(2).for_each(|words| again.add(&words[1]).unwrap());
        assert_eq!(again, without);
        assert!(!without.has_accident(2) && without.has_accident(4) && !without.has_client(1));
        assert!(!without.has_operation(2, 101) && without.has_operation(2, 100) && without.has_operation(0, 5));
        for wrong in ["accidents", "accidents:x", "all:1", "operations-of-x:1", "accidents:0-99999999"] {
            assert!(without.add(wrong).is_err(), "{wrong}");
        }
    }
}
