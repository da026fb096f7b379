// SPDX-License-Identifier: Apache-2.0

//! What the daemon says to its caller.

use super::*;

#[test]
fn words_are_understood() {
    assert_eq!(understand("ready\n"), Some(Ok(Exit::Ok)));
    let report = Report { exit: Exit::Unreachable as u8, message: "nobody there".into() };
    let failure = understand(&serde_json::to_string(&report).unwrap()).unwrap().unwrap_err();
    assert_eq!((failure.exit, failure.message.as_str()), (Exit::Unreachable, "nobody there"));
    let odd = Report { exit: 99, message: String::new() };
    assert_eq!(understand(&serde_json::to_string(&odd).unwrap()).unwrap().unwrap_err().exit, Exit::Failed);
    assert_eq!(understand(""), None);
    assert_eq!(understand("read"), None);
    assert_eq!(understand("{\"exit\":4"), None);
}
