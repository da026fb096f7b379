// SPDX-License-Identifier: Apache-2.0

//! The page that is served: made when it is asked for, and not more often than five times a second.
//!
//! **Failure model.** See the crate: a service that does not answer is not waited for longer than two seconds, nor asked by two at once.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};

/// For so long a page is served again.
const FRESH: Duration = Duration::from_millis(200);
/// The longest wait for the service.
const ANSWER: Duration = Duration::from_secs(2);

pub(crate) struct Pages {
    asks: mpsc::Sender<oneshot::Sender<String>>,
    last: RefCell<Option<(Instant, Rc<str>)>>,
    asking: Mutex<()>,
}

impl Pages {
    pub fn new(asks: mpsc::Sender<oneshot::Sender<String>>) -> Rc<Pages> {
        Rc::new(Pages { asks, last: RefCell::default(), asking: Mutex::default() })
    }

    /// A page that is at most [`FRESH`] old; none if the service does not answer.
    pub async fn page(&self) -> Option<Rc<str>> {
        let _turn = self.asking.lock().await;
        if let Some((made, page)) = &*self.last.borrow()
            && made.elapsed() < FRESH
        {
            return Some(page.clone());
        }
        let (answer, answered) = oneshot::channel();
        let asked = async {
            self.asks.send(answer).await.ok()?;
            answered.await.ok()
        };
        let page: Rc<str> = tokio::time::timeout(ANSWER, asked).await.ok()??.into();
        self.last.replace(Some((Instant::now(), page.clone())));
        Some(page)
    }

    /// Returns when the service has ended.
    pub async fn ended(&self) {
        self.asks.closed().await;
    }
}
