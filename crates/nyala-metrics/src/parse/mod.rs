// SPDX-License-Identifier: Apache-2.0

//! Reads OpenMetrics text, strictly: what a scraper might forgive is an error here. Tests hold every page to it, and `nyala stats`
//! reads with it.

mod check;
mod families;
mod labels;

pub use families::{Families, Family, Sample};

use check::check;
use labels::{labels, name_is_good, unescape};
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with a page, and in which line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The line.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Malformed {}

/// Reads a page.
pub fn parse(text: &str) -> Result<Families, Malformed> {
    let mut reader = Reader::default();
    let lines =
        text.strip_suffix("# EOF\n").ok_or_else(|| malformed(text.lines().count(), "it does not end with # EOF"))?;
    if !lines.is_empty() && !lines.ends_with('\n') {
        return Err(malformed(text.lines().count(), "# EOF is not on a line of its own"));
    }
    for (index, line) in lines.lines().enumerate() {
        let wrong = |what: String| malformed(index + 1, &what);
        match line.strip_prefix("# ") {
            Some(about) => reader.about(about).map_err(wrong)?,
            None => reader.sample(line).map_err(wrong)?,
        }
    }
    for (name, family) in &reader.families {
        check(name, family).map_err(|what| malformed(lines.lines().count(), &format!("{name}: {what}")))?;
    }
    Ok(reader.families)
}

fn malformed(line: usize, what: &str) -> Malformed {
    Malformed { line, what: what.to_owned() }
}

#[derive(Default)]
struct Reader {
    families: Families,
    current: String,
    /// Suffixes and labels of the current metric's samples so far.
    seen: BTreeSet<(String, BTreeMap<String, String>)>,
}

impl Reader {
    /// `HELP name text`, `TYPE name type`, `UNIT name unit`.
    fn about(&mut self, about: &str) -> Result<(), String> {
        let mut words = about.splitn(3, ' ');
        let (Some(word), Some(name), Some(text)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("{about:?} is no HELP, TYPE or UNIT"));
        };
        if name != self.current {
            name_is_good(name)?;
            if self.families.insert(name.to_owned(), Family::default()).is_some() {
                return Err(format!("{name} comes twice"));
            }
            name.clone_into(&mut self.current);
            self.seen.clear();
        }
        let family = self.families.get_mut(name).ok_or("no metric")?;
        if !family.samples.is_empty() {
            return Err(format!("{word} of {name} after its samples"));
        }
        let (place, text) = match word {
            "HELP" => (&mut family.help, unescape(text)?),
            "TYPE" => (&mut family.kind, text.to_owned()),
            "UNIT" => (&mut family.unit, text.to_owned()),
            _ => return Err(format!("{word} is not known")),
        };
        if !place.is_empty() {
            return Err(format!("{word} of {name} comes twice"));
        }
        *place = text;
        Ok(())
    }

    /// `name{label="value",…} number`.
    fn sample(&mut self, line: &str) -> Result<(), String> {
        let end = line.find(['{', ' ']).ok_or("a sample has a value")?;
        let (name, rest) = line.split_at(end);
        name_is_good(name)?;
        let suffix = name.strip_prefix(self.current.as_str()).ok_or(format!("{name} is not of {}", self.current))?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (BTreeMap::new(), rest),
        };
        let value = value.strip_prefix(' ').ok_or("one space comes before the value")?;
        let good = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || b".+-eE".contains(&byte));
        let value = value.parse().ok().filter(|_| good).ok_or(format!("{value:?} is no number"))?;
        let family = self.families.get_mut(&self.current).ok_or("a sample before any metric")?;
        if !self.seen.insert((suffix.to_owned(), labels.clone())) {
            return Err(format!("{name} comes twice with the same labels"));
        }
        family.samples.push(Sample { suffix: suffix.to_owned(), labels, value });
        Ok(())
    }
}
