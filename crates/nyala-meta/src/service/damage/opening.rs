// SPDX-License-Identifier: Apache-2.0

//! Opens the tables, or empty ones in the place of damaged ones. [`super`] has the failure model.

use super::refill::Refill;
use crate::service::error::MetaError;
use crate::service::group::rows::LonePositions;
use crate::tables::Tables;
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_wire::WireError;
use std::path::Path;

/// How the tables in a directory are opened.
pub type Opens<'a> = &'a dyn Fn(&Path, Options) -> Result<(Store, Recovery), StoreError>;

/// Opens the tables. If they are damaged where every run reads them, or a run before this one has found them so, and nothing counts on them
/// (`may_be_emptied`), they are put aside before.
pub fn open(
    refill: &Refill,
    may_be_emptied: bool,
    open_store: Opens<'_>,
    options: &Options,
) -> Result<(Tables, Recovery), MetaError> {
    let wanted = refill.take_wanted();
    let open = || tables(open_store, refill, options);
    let damage = match wanted && may_be_emptied {
        true => None,
        false => match open() {
            Err(MetaError::Store(error)) if error.is_damage() && may_be_emptied && refill.may_begin() => Some(error),
            opened => return opened,
        },
    };
    let what = damage.as_ref().map_or_else(|| "found while they were in use".to_owned(), ToString::to_string);
    tracing::error!(damage = %what, "the damaged metadata tables are put aside; the mirror group fills this member again");
    if let Err(error) = refill.put_aside() {
        tracing::error!(%error, "they cannot be put aside");
        return damage.map_or_else(open, |damage| Err(damage.into()));
    }
    open()
}

/// What every run reads before it knows what it is to be. An error that comes of damage says which.
fn tables(open_store: Opens<'_>, refill: &Refill, options: &Options) -> Result<(Tables, Recovery), MetaError> {
    let (store, recovery) = open_store(&refill.tables(), options.clone())?;
    let whose = |error: WireError, damage: Option<StoreError>| damage.map_or(error.into(), MetaError::Store);
    let tables = Tables::new(store.clone()).map_err(|error| whose(error, store.damage()))?;
    LonePositions::of(&store).map_err(|error| whose(error, store.damage()))?;
    Ok((tables, recovery))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn damaged() -> StoreError {
        StoreError::TableDamaged { file: "tree".into(), offset: 4096, reason: "bad".into() }
    }

    /// The first openings fail.
    fn opened(fails: u32, wanted: bool, may_be_emptied: bool) -> (bool, bool) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tables")).unwrap();
        let (refill, count) = (Refill::new(dir.path()), Cell::new(0));
        if wanted {
            refill.begin();
        }
        let open_store = |path: &Path, options: Options| {
            count.set(count.get() + 1);
            if count.get() <= fails { Err(damaged()) } else { Store::open(path, options) }
        };
        let opened = open(&refill, may_be_emptied, &open_store, &Options::default()).is_ok();
        (opened, dir.path().join("tables.damaged").exists())
    }

    #[test]
    fn damaged_tables_are_put_aside_only_where_nothing_counts_on_them() {
        assert_eq!(opened(0, false, true), (true, false));
        assert_eq!(opened(1, false, true), (true, true));
        assert_eq!(opened(0, true, true), (true, true), "they were found so before");
        assert_eq!(opened(0, true, false), (true, false), "by now the group counts on them");
        assert_eq!(opened(1, false, false), (false, false));
        assert_eq!(opened(2, false, true), (false, true), "nothing else helps");
    }
}
