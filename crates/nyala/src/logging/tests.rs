// SPDX-License-Identifier: Apache-2.0

//! Levels and files that are asked for.

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
