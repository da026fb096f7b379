// SPDX-License-Identifier: Apache-2.0

//! The page that is served: made when it is asked for, and not more often than five times a second.
//!
//! **Failure model.** See the crate: a service that does not answer is not waited for longer than two seconds, nor asked by two at once.

use bytes::Bytes;
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::frame::MAX_PAYLOAD;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};

/// For so long a page is served again.
const FRESH: Duration = Duration::from_millis(200);
/// The longest wait for the service.
const ANSWER: Duration = Duration::from_secs(2);

/// Where a service's page can be had, on any thread. Clones share the last page.
#[derive(Clone, Debug)]
pub struct Pages(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    asks: mpsc::Sender<oneshot::Sender<String>>,
    /// The last page and when it was made. Whoever asks for the next one holds the lock.
    last: Mutex<Option<(Instant, Arc<str>)>>,
}

impl Pages {
    pub(crate) fn new(asks: mpsc::Sender<oneshot::Sender<String>>) -> Pages {
        Pages(Arc::new(Shared { asks, last: Mutex::default() }))
    }

    /// A page that is at most 200 ms old; none if the service does not answer. Needs a runtime with time.
    pub async fn page(&self) -> Option<Arc<str>> {
        let mut last = self.0.last.lock().await;
        if let Some((made, page)) = &*last
            && made.elapsed() < FRESH
        {
            return Some(page.clone());
        }
        let (answer, answered) = oneshot::channel();
        let asked = async {
            self.0.asks.send(answer).await.ok()?;
            answered.await.ok()
        };
        let page: Arc<str> = tokio::time::timeout(ANSWER, asked).await.ok()??.into();
        *last = Some((Instant::now(), page.clone()));
        Some(page)
    }

    /// The page as the payload of a reply to METRICS.
    pub async fn payload(&self) -> Result<Vec<Bytes>, WireError> {
        let page = self.page().await;
        let page = page.ok_or_else(|| ErrorCode::NOT_READY.with("the service is starting, stopping or stuck"))?;
        if page.len() > MAX_PAYLOAD {
            return Err(
                ErrorCode::INVALID.with("the page of metrics is longer than a reply may be; scrape it over HTTP")
            );
        }
        Ok(vec![Bytes::copy_from_slice(page.as_bytes())])
    }

    /// Returns when the service has ended.
    pub(crate) async fn ended(&self) {
        self.0.asks.closed().await;
    }
}
