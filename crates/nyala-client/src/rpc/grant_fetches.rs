// SPDX-License-Identifier: Apache-2.0

//! Asks for a grant of a file once, however many requests to storage wait for it: a large file's first use sends many at a time.
//!
//! **Failure model.** Whoever asks may be given up: the next one that waits asks in its place. An answer that somebody else had asked for may be older than
//! what has given this client's users more rights: one that is not enough, or a refusal, is asked for once more, by one for all
//! again. Any other error is everybody's, so that nobody waits longer than a request does.

use crate::error::{Error, Result};
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::{ErrorCode, InodeId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

type Answer = Arc<OnceCell<Result<StorageGrant>>>;

/// Those that are under way; an entry whose last one was given up stays until the file's next.
#[derive(Default)]
pub(crate) struct GrantFetches(Mutex<HashMap<InodeId, Answer>>);

impl GrantFetches {
    /// The answer to `ask`, by whomever it was asked, if it is enough for these rights; else to one that began after this was called.
    pub(crate) async fn fetch<F: Future<Output = Result<StorageGrant>>>(
        &self,
        (inode, rights): (InodeId, StorageRights),
        ask: impl Fn() -> F,
    ) -> Result<StorageGrant> {
        let (result, own) = self.next(inode, &ask).await;
        let may_have_changed = match &result {
            Ok(grant) => grant.rights < rights,
            Err(error) => error.is(ErrorCode::ACCESS),
        };
        if own || !may_have_changed {
            return result;
        }
        self.next(inode, &ask).await.0
    }

    /// The next answer, and whether it was asked for here.
    async fn next<F: Future<Output = Result<StorageGrant>>>(
        &self,
        inode: InodeId,
        ask: &impl Fn() -> F,
    ) -> (Result<StorageGrant>, bool) {
        let answer = self.0.lock().entry(inode).or_default().clone();
        let mut own = false;
        let asked = || {
            own = true;
            ask()
        };
        let result = answer.get_or_init(asked).await.clone();
        let mut under_way = self.0.lock();
        if under_way.get(&inode).is_some_and(|known| Arc::ptr_eq(known, &answer)) {
            under_way.remove(&inode);
        }
        drop(under_way);
        (result, own)
    }
}

/// An error that says that no user of this client may do it.
pub(crate) fn refused(what: &'static str, says: &str) -> Error {
    Error::Server { what, error: ErrorCode::ACCESS.with(says) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;
    use tokio::task::LocalSet;

    const FILE: InodeId = InodeId(5);

    fn grant(rights: StorageRights) -> StorageGrant {
        StorageGrant { inode: FILE, rights, code: [1; 16].into() }
    }

    /// What so many that want to write get at once, and how often was asked. `answers`: to each asking.
    async fn fetch_all(count: usize, answers: &[Result<StorageGrant>]) -> (Vec<Result<StorageGrant>>, usize) {
        let (fetches, asked) = (GrantFetches::default(), Cell::new(0));
        let ask = || async {
            let number = asked.replace(asked.get() + 1);
            tokio::time::sleep(Duration::from_millis(10)).await; // sleeps: an answer takes a while
            answers[number].clone()
        };
        let all = (0..count).map(|_| fetches.fetch((FILE, StorageRights::Write), ask));
        let mut results = Vec::new();
        let mut waiting: Vec<_> = all.map(Box::pin).collect();
        std::future::poll_fn(|context| {
            waiting.retain_mut(|one| match one.as_mut().poll(context) {
                std::task::Poll::Ready(result) => {
                    results.push(result);
                    false
                }
                std::task::Poll::Pending => true,
            });
            if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        assert!(fetches.0.lock().is_empty(), "nothing is under way any more");
        (results, asked.get())
    }

    fn run<F: Future>(work: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work)
    }

    #[test]
    fn many_that_want_a_grant_ask_once() {
        run(async {
            let (results, asked) = fetch_all(20, &[Ok(grant(StorageRights::Write))]).await;
            assert_eq!((results.len(), asked), (20, 1));
            assert!(results.into_iter().all(|result| result.is_ok_and(|got| got == grant(StorageRights::Write))));
        });
    }

    #[test]
    fn what_is_not_enough_is_asked_for_once_more_by_those_that_did_not_ask() {
        run(async {
            let first = [Ok(grant(StorageRights::Read)), Err(refused("test", "no"))];
            for first in first {
                let (results, asked) = fetch_all(20, &[first, Ok(grant(StorageRights::Write))]).await;
                assert_eq!((results.len(), asked), (20, 2));
                let enough =
                    |result: &Result<StorageGrant>| matches!(result, Ok(got) if got.rights == StorageRights::Write);
                assert_eq!(results.iter().filter(|result| enough(result)).count(), 19);
            }
            let (results, asked) = fetch_all(20, &[Err(Error::ShutDown)]).await;
            assert!(asked == 1 && results.iter().all(|result| matches!(result, Err(Error::ShutDown))));
        });
    }

    #[test]
    fn another_one_asks_in_place_of_one_that_was_given_up() {
        run(async {
            let fetches = GrantFetches::default();
            let never = || std::future::pending::<Result<StorageGrant>>();
            let first = fetches.fetch((FILE, StorageRights::Read), never);
            let given_up = tokio::time::timeout(Duration::from_millis(5), first);
            let second = fetches.fetch((FILE, StorageRights::Read), || async { Ok(grant(StorageRights::Read)) });
            let (given_up, second) = tokio::join!(biased; given_up, second);
            assert!(given_up.is_err() && second.is_ok_and(|got| got == grant(StorageRights::Read)));
            assert!(fetches.0.lock().is_empty());
        });
    }
}
