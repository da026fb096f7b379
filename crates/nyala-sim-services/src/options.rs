// SPDX-License-Identifier: Apache-2.0

//! The command line.

use crate::without::{self, Without};
use crate::world::cluster::Size;
use crate::world::trip::Trip;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Options {
    pub seeds: u64,
    pub first: u64,
    pub jobs: usize,
    pub one: Option<u64>,
    pub trace: Option<String>,
    /// Shows what a program sees of the simulated kernel, or of the real one.
    pub conform: Option<bool>,
    pub faults: bool,
    pub size: Size,
    /// Stops after this time.
    pub most_seconds: Option<u64>,
    /// Does one operation so many times, and nothing else.
    pub trip: Option<(Trip, u64)>,
    /// Stops at the first finding.
    pub until_found: bool,
    /// What is left out of a run.
    pub without: Without,
    /// Counts as a finding if it happens: what is counted under this name.
    pub suspect: Option<String>,
    /// Looks for less of this seed that shows its finding still.
    pub shrink: Option<u64>,
    /// Runs that it takes for that at most.
    pub most_tries: u64,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let size = Size { mgmt: 3, meta: 2, spares: 1, storage: 3, clients: 3 };
        let mut options = Options {
            seeds: 20,
            first: 0,
            jobs: 2,
            one: None,
            trace: None,
            conform: None,
            faults: true,
            size,
            most_seconds: None,
            trip: None,
            until_found: false,
            without: Without::default(),
            suspect: None,
            shrink: None,
            most_tries: u64::MAX,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|error| format!("{word} {text}: {error}"));
            match word.as_str() {
                "--seeds" => options.seeds = number(value()?)?,
                "--first" => options.first = number(value()?)?,
                "--jobs" => options.jobs = number(value()?)? as usize,
                "--one" => options.one = Some(number(value()?)?),
                "--trace" => options.trace = Some(value()?),
                "--seconds" => options.most_seconds = Some(number(value()?)?),
                "--conform" => options.conform = Some(value()? == "simulated"),
                "--trip" => {
                    let trip = value()?;
                    let (what, times) = trip.split_once(':').ok_or("a trip is WHAT:TIMES")?;
                    let what = Trip::parse(what).ok_or(format!("{what} is no trip"))?;
                    options.trip = Some((what, number(times.into())?));
                }
                without::OPTION => options.without.add(&value()?)?,
                "--suspect" => options.suspect = Some(value()?),
                "--shrink" => options.shrink = Some(number(value()?)?),
                "--tries" => options.most_tries = number(value()?)?,
                "--until-found" => options.until_found = true,
                "--no-faults" => options.faults = false,
                "--mgmt" => options.size.mgmt = number(value()?)? as usize,
                "--spares" => options.size.spares = number(value()?)? as usize,
                "--meta" => options.size.meta = number(value()?)? as usize,
                "--storage" => options.size.storage = number(value()?)? as usize,
                "--clients" => options.size.clients = number(value()?)? as usize,
                _ => return Err(format!("{word} is not known")),
            }
        }
        Ok(options)
    }
}
