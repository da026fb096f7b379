// SPDX-License-Identifier: Apache-2.0

//! Actions as forms and links have them.

use super::*;

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn what_is_written_is_read_again() {
    let (group, target) = (GroupId(3), TargetId(101));
    for action in [
        Action::Declare { target, consistency: Consistency::Good },
        Action::Declare { target, consistency: Consistency::NeedsResync },
        Action::Declare { target, consistency: Consistency::Bad },
        Action::StopResync { group, stopped: true },
        Action::StopResync { group, stopped: false },
        Action::Switch { group, target },
        Action::CancelMoves,
    ] {
        let fields: Vec<(String, String)> =
            action.fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(Action::parse(&fields), Ok(action));
        assert!(action.address().chars().all(|c| c.is_ascii_alphanumeric() || "/?=&-".contains(c)), "{action:?}");
    }
}

#[test]
fn nonsense_is_refused_with_what_is_wrong() {
    for (given, said) in [
        (&[][..], "do is missing"),
        (&[("do", "explode")][..], "no such action"),
        (&[("do", "switch"), ("group", "1")][..], "target is missing"),
        (&[("do", "switch"), ("group", "70000"), ("target", "1")][..], "not the number of a group"),
        (&[("do", "declare"), ("target", "1"), ("to", "<b>")][..], "none of good"),
    ] {
        let refused = Action::parse(&pairs(given)).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}
