// SPDX-License-Identifier: Apache-2.0

//! A search: walks from paths, with results printed and progress shown. Failure model: see the parent module.

use super::filter_args::FilterArgs;
use super::results::Results;
use super::tree::Tree;
use super::walk::{Passed, Walk, Walked};
use crate::cluster::{ClusterArgs, LastClient, Way};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::progress::{Counted, Shown, during_on};
use crate::role::block_on;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::io::Stdout;
use std::path::{Path, PathBuf};

/// What to search for, and where.
pub struct Search<'a> {
    /// Where walks begin.
    pub paths: &'a [PathBuf],
    /// Which cluster.
    pub cluster: &'a ClusterArgs,
    /// Which entries are meant.
    pub filter: &'a FilterArgs,
    /// So many directories deep; `None`: all the way.
    pub max_depth: Option<usize>,
    /// What is done with what is found has to keep others out.
    pub excludes: bool,
}

/// A walk that somebody waits for.
struct Running {
    shown: RefCell<Shown>,
    passed: Passed,
    total: Cell<Option<u64>>,
    results: RefCell<Results<Stdout>>,
}

impl Search<'_> {
    /// Prints what is meant, as it is found. Exit code 1 if something could not be looked at.
    pub fn run<T: Serialize>(
        &self,
        output: Output,
        text: impl Fn(&Walked) -> Vec<u8>,
        value: impl Fn(&Walked) -> T,
    ) -> Outcome {
        let found = async |running: &Running, _: &Tree, walked: &Walked| {
            let mut results = running.results.borrow_mut();
            results.put(&running.shown, || text(walked), || value(walked))
        };
        self.run_with(output, "search", None, found)
    }

    /// Does something with everything that is meant, one after the other, and prints what comes of it: as text, and as JSON. `bytes`: how many it
    /// has worked through so far, if that is its measure. Exit code 1 if something could not be looked at.
    pub fn each<T: Serialize>(
        &self,
        output: Output,
        what: &str,
        bytes: Option<&dyn Fn() -> u64>,
        act: impl AsyncFn(&Tree, &Walked) -> Result<Option<(Vec<u8>, T)>, Failure>,
    ) -> Outcome {
        let found = async |running: &Running, tree: &Tree, walked: &Walked| match act(tree, walked).await? {
            Some((text, value)) => running.results.borrow_mut().put(&running.shown, || text, || value),
            None => Ok(true),
        };
        self.run_with(output, what, bytes, found)
    }

    fn run_with(
        &self,
        output: Output,
        what: &str,
        bytes: Option<&dyn Fn() -> u64>,
        found: impl AsyncFn(&Running, &Tree, &Walked) -> Result<bool, Failure>,
    ) -> Outcome {
        let running = Running {
            shown: RefCell::default(),
            passed: Passed::default(),
            total: Cell::new(None),
            results: RefCell::new(Results::stdout(output)),
        };
        let walked: Result<(), Failure> = block_on(async {
            let walks = async {
                let mut last = LastClient::new(self.excludes);
                let walked = async {
                    for path in self.paths {
                        let walked = self.walk(path, &running, &mut last, &found).await;
                        if !walked.map_err(|error| error.context(path.display()))? {
                            break;
                        }
                    }
                    Ok(())
                };
                let walked = walked.await;
                last.leave().await;
                walked
            };
            let look = || match bytes {
                Some(bytes) => (bytes(), None),
                None => (running.passed.entries.get(), running.total.get()),
            };
            let unit = bytes.map_or(Counted::Things("entries"), |_| Counted::Bytes);
            during_on(&running.shown, what, unit, look, walks).await
        });
        walked?;
        running.results.borrow_mut().finish()?;
        running.passed.end().map(|()| Exit::Ok)
    }

    /// One walk. Whether somebody still reads the results.
    async fn walk(
        &self,
        path: &Path,
        running: &Running,
        last: &mut LastClient,
        found: &impl AsyncFn(&Running, &Tree, &Walked) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let way = self.cluster.find_for(path)?;
        let whole = matches!(way, Way::Cluster(..));
        let (tree, first) = Tree::at(&way, path, last).await?;
        let is_all = self.paths.len() == 1 && self.max_depth.is_none();
        running.total.set(tree.estimate(&first).await.filter(|_| is_all));
        let map = tree.map(&first)?;
        let filter = self.filter.filter(&map, whole)?;
        let mut walk = Walk::new(&tree, &filter, self.max_depth.unwrap_or(usize::MAX), &running.passed);
        walk.begin(first).await;
        while let Some(walked) = walk.next(nyala_transport::wall_clock).await? {
            if !found(running, &tree, &walked).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
