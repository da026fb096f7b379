// SPDX-License-Identifier: Apache-2.0

//! Bodies of requests for [`crate::fuzzing`].

use super::access_view::AccessRuleView;
use super::error::parse;
use super::group_orders::{NewPrimary, Resync};
use super::groups::{AutoGroups, NewGroup, Removal};
use super::held::HeldView;
use super::rules::WhoseRule;
use super::target_state::NewState;
use super::views::{NewAlias, SettingsView};

/// Whether the bytes are the body of a request.
pub(crate) fn body(bytes: &[u8]) -> bool {
    let settings = parse::<SettingsView>(bytes).map(|settings| {
        let text = serde_json::to_vec(&settings).expect("plain values can be written");
        let again = parse::<SettingsView>(&text).expect("what was written can be read");
        assert_eq!(format!("{again:?}"), format!("{settings:?}"));
    });
    settings.is_ok()
        || parse::<NewAlias>(bytes).is_ok()
        || parse::<NewGroup>(bytes).is_ok()
        || parse::<AutoGroups>(bytes).is_ok()
        || parse::<Removal>(bytes).is_ok()
        || parse::<Resync>(bytes).is_ok()
        || parse::<NewPrimary>(bytes).is_ok()
        || parse::<HeldView>(bytes).is_ok()
        || parse::<AccessRuleView>(bytes).is_ok()
        || parse::<WhoseRule>(bytes).is_ok()
        || parse::<NewState>(bytes).is_ok()
}
