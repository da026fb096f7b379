// SPDX-License-Identifier: Apache-2.0

//! `nyala plan`: what drives, servers and networks give together. Asks no cluster and changes nothing of one.
//!
//! **Failure model.** Everything is checked before anything is measured or written. A measurement ([`measure`]) writes and reads files of
//! its own in the directories that it is given, and removes them; a disk that is full or fails ends it with an error that names the file. The
//! picture is written last; where that fails, the command fails, and what stands in the file may be incomplete.

mod answer;
mod args;
mod measure;
mod numbers;
mod tables;
#[cfg(test)]
mod tests;

pub use args::PlanArgs;

use crate::exit::{Outcome, io};
use crate::output::{Output, show};
use answer::answer;
use nyala_plan::drawing;
use nyala_plan::published::table;

/// Prints the estimate.
pub fn run(args: PlanArgs, output: Output) -> Outcome {
    if args.published {
        return show(output, &table(), |rows| tables::published(rows));
    }
    let measured = match args.measure.is_empty() {
        true => None,
        false => {
            // What makes no sense is said before anybody waits for a measurement.
            answer(&args, None)?;
            Some(measure::run(&args.measure, args.seconds)?)
        }
    };
    let answer = answer(&args, measured)?;
    if let Some(file) = &args.svg {
        let svg = drawing::draw(&answer.site, &answer.fabric, &answer.estimate);
        std::fs::write(file, svg).map_err(io(format!("cannot write {}", file.display())))?;
    }
    show(output, &answer, tables::shown)
}
