// SPDX-License-Identifier: Apache-2.0

//! Clocks of machines run apart: faster or slower than others by up to a tenth, or set to another time of day.

use crate::check::ledger;
use crate::kernel::clock::{self, SECOND};
use crate::kernel::own_clock::EVEN;
use crate::kernel::process::MachineId;
use crate::random::Random;

/// A clock is wrong by at most this part.
const MOST_WRONG: u64 = EVEN / 10;
/// Seconds by which a time of day is wrong.
const JUMPS: [i64; 5] = [1, 30, 3600, 24 * 3600, 40 * 24 * 3600];

/// A machine's clocks get another rate.
pub fn change_rate(random: &mut Random, machine: MachineId) {
    let rate = random.range(EVEN - MOST_WRONG..EVEN + MOST_WRONG + 1);
    ledger(|ledger| ledger.count("fault: clock of another rate"));
    tracing::info!("ACCIDENT the clock of machine {machine} runs at {rate} of {EVEN}");
    clock::set_rate(machine, rate);
}

/// A machine's time of day is set.
pub fn set_day(random: &mut Random, machine: MachineId) {
    let by = *random.pick(&JUMPS) * if random.one_in(2) { 1 } else { -1 };
    ledger(|ledger| ledger.count("fault: time of day is set"));
    tracing::info!("ACCIDENT the time of day of machine {machine} is {by} s ahead");
    clock::set_day(machine, by * SECOND as i64);
}
