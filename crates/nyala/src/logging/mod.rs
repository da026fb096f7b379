// SPDX-License-Identifier: Apache-2.0

//! Where log lines go and what they look like.

mod file;
mod journal;
mod line;

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use file::LogFile;
use line::OneLine;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// What log lines look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
    /// To the journal of systemd, each field of an event as a field of its entry.
    Journal,
}

/// MiB at which a log file is put aside, and how many of these are kept, where nothing else is said.
const FILE_MIB: u32 = 64;
const FILES: u32 = 4;

/// Logging flags, the same for every command.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// error, warn, info, debug or trace; or per module: `info,nyala_client=debug` [default: info for services, else warn]
    #[arg(long, global = true, env = "NYALA_LOG_LEVEL", value_name = "LEVEL", help_heading = "Logging")]
    pub log_level: Option<String>,
    /// What log lines look like [default: journal where standard error goes there, else text]
    #[arg(long, global = true, env = "NYALA_LOG_FORMAT", value_enum, help_heading = "Logging")]
    pub log_format: Option<LogFormat>,
    /// Append to this file instead of writing to standard error
    #[arg(long, global = true, env = "NYALA_LOG_FILE", value_name = "FILE", help_heading = "Logging")]
    pub log_file: Option<PathBuf>,
    /// Put the log file aside when it has so many MiB, as FILE.1; 0: never
    #[arg(
        long,
        global = true,
        env = "NYALA_LOG_FILE_MIB",
        value_name = "MIB",
        default_value_t = FILE_MIB,
        help_heading = "Logging"
    )]
    pub log_file_mib: u32,
    /// Keep so many log files that were put aside
    #[arg(
        long,
        global = true,
        env = "NYALA_LOG_FILES",
        value_name = "N",
        default_value_t = FILES,
        value_parser = clap::value_parser!(u32).range(..=1000),
        help_heading = "Logging"
    )]
    pub log_files: u32,
}

impl Default for LogArgs {
    fn default() -> LogArgs {
        LogArgs { log_level: None, log_format: None, log_file: None, log_file_mib: FILE_MIB, log_files: FILES }
    }
}

impl LogArgs {
    /// Starts logging. Called once per process.
    pub fn start(&self, default_level: &str) -> Result<(), Failure> {
        // A variable that is set to nothing asks for nothing.
        let level = self.log_level.as_deref().filter(|level| !level.is_empty()).unwrap_or(default_level);
        let wrong = |why: String| {
            Failure::usage(format!("log level {level:?}: {why}; write error, warn, info, debug or trace"))
        };
        // A word that is no level is taken for a module's name otherwise, and silences everything else.
        if let Some(word) = level.split(',').map(str::trim).find(|word| !word.contains('=') && !is_level(word)) {
            return Err(wrong(format!("{word:?} is no level")));
        }
        EnvFilter::try_new(bounded(level)).map_err(|error| wrong(error.to_string()))?;
        let filter = || EnvFilter::new(bounded(level));
        let failed = |error: &dyn std::fmt::Display| Failure::failed(format!("cannot start logging: {error}"));
        match (self.log_format, &self.log_file) {
            (Some(LogFormat::Journal), Some(_)) => {
                let why = "the journal keeps its own files: leave out --log-file, or --log-format journal";
                return Err(Failure::usage(why));
            }
            (Some(LogFormat::Journal), None) => {
                let subscriber = journal::subscriber(filter()).map_err(|error| failed(&error))?;
                return subscriber.try_init().map_err(|error| failed(&error));
            }
            (None, None) if journal::is_standard_error() => {
                // Without its socket it still has standard error, whose lines it takes without fields.
                if let Ok(subscriber) = journal::subscriber(filter()) {
                    return subscriber.try_init().map_err(|error| failed(&error));
                }
            }
            _ => {}
        }
        let builder = tracing_subscriber::fmt().with_env_filter(filter()).with_writer(self.writer()?);
        let builder = builder.with_ansi(self.log_file.is_none() && std::io::stderr().is_terminal());
        let is_json = self.log_format == Some(LogFormat::Json);
        let started = if is_json { builder.json().try_init() } else { builder.try_init() };
        started.map_err(|error| failed(&error))
    }

    fn writer(&self) -> Result<BoxMakeWriter, Failure> {
        let Some(path) = &self.log_file else {
            return Ok(BoxMakeWriter::new(|| OneLine(std::io::stderr())));
        };
        let limit = (self.log_file_mib > 0).then(|| u64::from(self.log_file_mib) << 20);
        let file = LogFile::open(path, limit, self.log_files);
        let file = file.map_err(|e| Failure::config(format!("log file {}: {e}", path.display())))?;
        Ok(BoxMakeWriter::new(Mutex::new(OneLine(file))))
    }
}

/// The level, with the consensus library left out where it is not named. It logs every attempt to reach a peer that is
/// away, several lines each and at "error" too: 36,000 in ten minutes of a node that is alone. What changes is logged here.
fn bounded(level: &str) -> String {
    if level.contains("openraft") { level.to_owned() } else { format!("{level},openraft=off") }
}

fn is_level(word: &str) -> bool {
    word.parse::<LevelFilter>().is_ok()
}

#[cfg(test)]
mod tests;
