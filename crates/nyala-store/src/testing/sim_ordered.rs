// SPDX-License-Identifier: Apache-2.0

//! The simulated ordered store: commits are atomic and durable, and can be refused or hit by a crash.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{CrashOutcome, State};
use crate::{Change, CheckpointMeta, OrderedStore, StoreError, Value, Visit};

#[derive(Clone, Default)]
pub(super) struct Tables {
    data: BTreeMap<Vec<u8>, Vec<u8>>,
    meta: Option<CheckpointMeta>,
}

pub(super) struct SimOrdered {
    pub state: Arc<Mutex<State>>,
    pub life: u64,
}

const LOCATION: &str = "simulated ordered store";

fn failed(reason: impl ToString) -> StoreError {
    StoreError::Ordered { store: LOCATION.into(), reason: reason.to_string() }
}

impl OrderedStore for SimOrdered {
    fn meta(&self) -> Result<Option<CheckpointMeta>, StoreError> {
        let state = self.state.lock();
        state.alive(self.life).map_err(failed)?;
        Ok(state.ordered.meta)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        let state = self.state.lock();
        state.alive(self.life).map_err(failed)?;
        Ok(state.ordered.data.get(key).map(|value| value.as_slice().into()))
    }

    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let state = self.state.lock();
        state.alive(self.life).map_err(failed)?;
        for (key, value) in state.ordered.data.range::<[u8], _>((from, to)) {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn free_bytes(&self) -> u64 {
        0
    }

    fn commit(&self, changes: &mut dyn Iterator<Item = Change<'_>>, meta: CheckpointMeta) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        let fate = state.point(self.life).map_err(failed)?;
        if fate == CrashOutcome::Fails {
            return Err(failed("simulated EIO"));
        }
        if state.ordered_full {
            return Err(StoreError::OrderedFull { store: LOCATION.into(), reason: "simulated ENOSPC".into() });
        }
        if fate == CrashOutcome::Works || state.random.coin() {
            for (key, value) in changes {
                match value {
                    Some(value) => state.ordered.data.insert(key.to_vec(), value.to_vec()),
                    None => state.ordered.data.remove(key),
                };
            }
            state.ordered.meta = Some(meta);
        }
        if fate == CrashOutcome::Crashes { Err(failed("the simulated machine crashed here")) } else { Ok(()) }
    }
}
