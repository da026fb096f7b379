// SPDX-License-Identifier: Apache-2.0

//! Figures of users: what metadata services count, and what mounts do.

use nyala_web::UserFigures;
use std::collections::BTreeMap;

/// Of each user, by number.
#[derive(Default)]
pub(super) struct Users(BTreeMap<String, UserFigures>);

impl Users {
    /// What one service or mount says of a user. Who asked for nothing is left out.
    pub fn add(&mut self, uid: &str, metric: &str, value: f64) {
        if value <= 0.0 {
            return;
        }
        let user = self.0.entry(uid.to_owned()).or_default();
        match metric {
            "nyala_meta_user_requests" => user.requests += value,
            "nyala_meta_user_changes" => user.changes += value,
            _ => {
                user.at_mounts += value;
                user.mounts += 1;
            }
        }
    }

    /// All of them.
    pub fn done(self) -> Vec<UserFigures> {
        self.0.into_iter().map(|(uid, user)| UserFigures { uid, ..user }).collect()
    }
}
