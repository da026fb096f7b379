// SPDX-License-Identifier: Apache-2.0

//! `nyala bench programs`: the field's own programs, fio, IOR, mdtest and elbencho, as far as they are installed, with the arguments of the
//! field's papers, on any directory; all of it several times, in turn, and each figure's spread over the runs as a box plot.
//!
//! - [`workload`] says what a start of a program is, [`fio`], [`ior`], [`mdtest`] and [`elbencho`] which starts there are and how their outputs
//!   are read ([`plan`] has all of them); [`rows`] and [`report`] are what came out, [`document`](mod@document) and [`page`](mod@page) show it. All that is pure.
//! - [`job`] looks for programs, [`launch`] runs one, [`output`] reads what it left, [`site`] has the directories, [`runs`] does all of it.

mod document;
mod elbencho;
mod figure;
mod fio;
mod ior;
mod job;
mod kind;
mod launch;
mod marked;
mod mdtest;
mod options;
mod output;
mod page;
mod plan;
mod report;
mod rows;
mod runs;
mod site;
mod workload;

pub use document::document;
pub use job::ProgramsJob;
pub use kind::Program;
pub use options::Options;
pub use page::page;
pub use report::Report;
pub use workload::Sizes;

use crate::error::BenchError;
use crate::stop::Stop;

/// Does all of it, on a thread of its own, so that a wish to stop is heard meanwhile. In a runtime.
pub async fn run(job: &ProgramsJob, stop: &Stop) -> Result<Report, BenchError> {
    let (job, stop) = (job.clone(), stop.clone());
    let ran = tokio::task::spawn_blocking(move || runs::run(&job, &stop)).await;
    ran.map_err(|error| BenchError::failed(format!("the runs ended in a panic: {error}")))?
}
