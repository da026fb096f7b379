// SPDX-License-Identifier: Apache-2.0

//! Where log lines go and what they look like.

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use std::fs::OpenOptions;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// What log lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Logging flags, the same for every command.
#[derive(Clone, Debug, Default, Args)]
pub struct LogArgs {
    /// error, warn, info, debug or trace; or per module: `info,nyala_client=debug` [default: info for services, else warn]
    #[arg(long, global = true, env = "NYALA_LOG_LEVEL", value_name = "LEVEL", help_heading = "Logging")]
    pub log_level: Option<String>,
    /// What log lines look like
    #[arg(long, global = true, env = "NYALA_LOG_FORMAT", value_enum, default_value_t, help_heading = "Logging")]
    pub log_format: LogFormat,
    /// Append to this file instead of writing to standard error
    #[arg(long, global = true, env = "NYALA_LOG_FILE", value_name = "FILE", help_heading = "Logging")]
    pub log_file: Option<PathBuf>,
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
        let filter = EnvFilter::try_new(bounded(level)).map_err(|error| wrong(error.to_string()))?;
        let writer = match &self.log_file {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                let file = file.map_err(|e| Failure::config(format!("log file {}: {e}", path.display())))?;
                BoxMakeWriter::new(Arc::new(file))
            }
            None => BoxMakeWriter::new(std::io::stderr),
        };
        let colours = self.log_file.is_none() && std::io::stderr().is_terminal();
        let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
        let started = match self.log_format {
            LogFormat::Text => builder.try_init(),
            LogFormat::Json => builder.json().try_init(),
        };
        started.map_err(|error| Failure::failed(format!("cannot start logging: {error}")))
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
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn the_consensus_library_is_heard_only_by_its_name() {
        for (level, filter) in [
            ("info", "info,openraft=off"),
            ("debug", "debug,openraft=off"),
            ("info,nyala_mgmt=debug", "info,nyala_mgmt=debug,openraft=off"),
            ("info,openraft=debug", "info,openraft=debug"),
            ("info,openraft::replication=trace", "info,openraft::replication=trace"),
        ] {
            assert_eq!(bounded(level), filter);
        }
    }

    #[test]
    fn wrong_levels_and_files_are_named() {
        let level = LogArgs { log_level: Some("nyala=loud".into()), ..Default::default() };
        let error = level.start("info").unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.message.contains("loud"), "{error}");
        for (level, word) in [("loud", "loud"), ("info,nyala_client", "nyala_client")] {
            let error = LogArgs { log_level: Some(level.into()), ..Default::default() }.start("info").unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains(word), "{error}");
        }
        let file = LogArgs { log_file: Some("/nonexistent/x.log".into()), ..Default::default() };
        let error = file.start("info").unwrap_err();
        assert!(error.message.contains("/nonexistent/x.log"), "{error}");
    }
}
