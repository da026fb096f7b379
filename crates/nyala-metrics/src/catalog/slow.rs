// SPDX-License-Identifier: Apache-2.0

//! What every service exports of requests that took too long.

use crate::metric::metrics;

metrics! {
    OPERATIONS = Counter "nyala_slow_operations" ["part"] "Requests that took longer than slow-operation, from their arrival until their reply left, by the part that took longest";
}
