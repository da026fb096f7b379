// SPDX-License-Identifier: Apache-2.0

//! What servers export of the ways to other servers.

use crate::metric::metrics;

metrics! {
    ANSWERS = Gauge "nyala_link_answers" ["peer", "address"] "1 while the address of another server answers, 0 while it does not, or has not yet";
    BREAKS = Counter "nyala_link_breaks" ["peer", "address"] "How often nothing arrived any more at an address that had answered";
}
