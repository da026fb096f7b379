// SPDX-License-Identifier: Apache-2.0

//! Whether something keeps the clock of this host in step with others, as the kernel was told.

use nyala_tune::facts::Clock;

/// The state of the clock; none where the kernel does not say.
pub fn clock() -> Option<Clock> {
    // SAFETY: the structure is plain numbers, for which zeroes are values; `modes` of 0 asks and changes nothing.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives through the call, and the kernel writes into it alone.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    if answer < 0 {
        return None;
    }
    let synchronized = answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    Some(Clock { synchronized, max_error_us: u64::try_from(state.maxerror).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_the_clock_is() {
        // Whatever it says, of a clock that nobody keeps it says no small error.
        let said = clock();
        assert!(said.is_none_or(|clock| clock.synchronized || clock.max_error_us > 0), "{said:?}");
    }
}
