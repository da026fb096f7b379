// SPDX-License-Identifier: Apache-2.0

//! What the names of a directory may be, and what an operation makes of them. Pure.

use super::operation::{NAMES, Op, Outcome};

/// What a name may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Free,
    Is(u64),
    /// There, as whatever inode.
    Some,
    Any,
}

/// What each name is.
pub type State = [Value; NAMES.len()];

impl Value {
    fn may_be_free(self) -> bool {
        matches!(self, Value::Free | Value::Any)
    }

    /// The same, given that it is there.
    fn there(self) -> Option<Value> {
        match self {
            Value::Free => None,
            Value::Any => Some(Value::Some),
            other => Some(other),
        }
    }

    fn may_be(self, inode: u64) -> bool {
        !matches!(self, Value::Free) && (!matches!(self, Value::Is(_)) || self == Value::Is(inode))
    }
}

fn with(state: &State, changes: &[(usize, Value)]) -> State {
    let mut state = *state;
    changes.iter().for_each(|(name, value)| state[*name] = *value);
    state
}

/// What the names may be after an operation that was told so; nothing if it cannot have been.
pub fn after(state: &State, op: Op, outcome: Outcome) -> Vec<State> {
    let one = |state: Option<State>| state.into_iter().collect::<Vec<_>>();
    let there = |name: usize| state[name].there().map(|value| with(state, &[(name, value)]));
    let free = |name: usize| state[name].may_be_free().then(|| with(state, &[(name, Value::Free)]));
    match (op, outcome) {
        (Op::Shake, _) => vec![[Value::Any; NAMES.len()]],
        (Op::Create(name), Outcome::Done(inode)) => {
            one(free(name).map(|state| with(&state, &[(name, Value::Is(inode))])))
        }
        (Op::Create(name), Outcome::Unknown(_)) => one(free(name).map(|state| with(&state, &[(name, Value::Some)]))),
        (Op::Create(to) | Op::Link { to, .. }, Outcome::Exists) => one(there(to)),
        (Op::Unlink(name), Outcome::Done(_) | Outcome::Unknown(_)) => {
            one(there(name).map(|state| with(&state, &[(name, Value::Free)])))
        }
        (Op::Unlink(name) | Op::Lookup(name), Outcome::Missing) => one(free(name)),
        (Op::Rename { from, .. }, Outcome::Missing) => one(free(from)),
        (Op::Lookup(name), Outcome::Done(inode)) => {
            one(state[name].may_be(inode).then(|| with(state, &[(name, Value::Is(inode))])))
        }
        (Op::Link { inode, to }, Outcome::Done(_) | Outcome::Unknown(_)) => {
            one(free(to).map(|state| with(&state, &[(to, Value::Is(inode))])))
        }
        (Op::Link { inode, .. }, Outcome::Missing) => one((!state.contains(&Value::Is(inode))).then_some(*state)),
        (Op::Rename { from, to, no_replace: true }, Outcome::Exists) => {
            one(there(from).and_then(|state| Some(with(&state, &[(to, state[to].there()?)]))))
        }
        (Op::Rename { from, to, no_replace }, Outcome::Done(_) | Outcome::Unknown(_)) => {
            let Some(moved) = state[from].there() else { return Vec::new() };
            let known = |value| matches!(value, Value::Is(_));
            // Two names of one file: nothing is done, and that is said to be well.
            let same = match state[to].there() {
                Some(other) if known(moved) && known(other) => moved == other,
                other => other.is_some(),
            };
            let stay =
                (same && !no_replace).then(|| with(state, &[(from, moved), (to, state[to].there().unwrap_or(moved))]));
            let differ = !(known(moved) && moved == state[to]);
            let goes = if no_replace { state[to].may_be_free() } else { differ };
            let goes = goes.then(|| with(state, &[(from, Value::Free), (to, moved)]));
            stay.into_iter().chain(goes).collect()
        }
        _ => Vec::new(),
    }
}
