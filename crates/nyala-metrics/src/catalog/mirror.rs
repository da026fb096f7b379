// SPDX-License-Identifier: Apache-2.0

//! What members of mirror groups export about copies.

use crate::metric::metrics;

metrics! {
    RESYNC_COPIED = Gauge "nyala_mirror_resync_copied_bytes" ["group", "target"] "What the resync of this member has copied";
    RESYNC_LEFT = Gauge "nyala_mirror_resync_left_bytes" ["group", "target"] "What it has yet to copy";
    RESYNC_SPEED = Gauge "nyala_mirror_resync_rate_bytes" ["group", "target"] "How much it copies in a second";
}
