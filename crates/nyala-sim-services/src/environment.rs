// SPDX-License-Identifier: Apache-2.0

//! What the environment says about runs.

/// Whether something happens in this run; in all or none, if the environment says so.
pub fn happens(variable: &str, by_chance: impl FnOnce() -> bool) -> bool {
    std::env::var(variable).map_or_else(|_| by_chance(), |always| always == "1")
}

/// What makes the world of a run another one, as words before a command.
pub fn assignments() -> String {
    let all = std::env::vars().filter(|(name, _)| name.starts_with("SIM_") && name != "SIM_LOG");
    all.map(|(name, value)| format!("{name}={value} ")).collect()
}
