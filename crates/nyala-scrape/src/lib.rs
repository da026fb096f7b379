// SPDX-License-Identifier: Apache-2.0

//! `GET /metrics` over HTTP: a thread of its own that asks the service for its figures when somebody wants them.
//!
//! The service answers between its requests ([`Scrapes::answer`]), on the thread that owns what is counted, so that nothing has to be
//! locked or copied for scrapes that do not come.
//!
//! **Failure model.** Whoever reaches the port reads everything here, without a secret: figures, addresses of clients and numbers of users,
//! no names and no content. So the port is on loopback unless an operator names another address, and off unless he names one. Strangers may
//! connect a thousand times, send half a header, a long body, or read nothing: connections are limited in number and time
//! ([`connections`]), and a page is made at most five times a second, however many ask. The service may be busy, starting or
//! stuck: then the reply is 503 after two seconds, and the scraper sees that something is wrong.

mod busiest;
mod connections;
mod links;
mod member;
mod pages;
mod process;
mod slow;

pub use busiest::{BusyNow, Sample};
pub use links::links;
pub use member::member;
pub use pages::Pages;
pub use process::process;
pub use slow::slow;

use nyala_metrics::Page;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use tokio::sync::{mpsc, oneshot};

/// Why metrics are not served.
#[derive(Debug, thiserror::Error)]
pub enum ScrapeError {
    /// The address cannot be listened at.
    #[error("cannot serve metrics at {address}: {cause}; name another address with --metrics, or none")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
}

/// A port that is taken, and serves nothing yet.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Takes the port.
    pub fn bind(address: SocketAddr) -> Result<Endpoint, ScrapeError> {
        let bound = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = bound().map_err(|cause| ScrapeError::Listen { address, cause })?;
        Ok(Endpoint { listener, address })
    }

    /// Where it listens; tells the port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to serve, until the result is dropped.
    pub fn serve(self) -> Result<Scrapes, ScrapeError> {
        let scrapes = Scrapes::nowhere();
        self.serve_pages(scrapes.pages())?;
        Ok(scrapes)
    }

    fn serve_pages(self, pages: Pages) -> Result<(), ScrapeError> {
        let Endpoint { listener, address } = self;
        let failed = |cause| ScrapeError::Listen { address, cause };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed)?
        };
        let serve = move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, connections::serve(listener, pages));
        };
        std::thread::Builder::new().name("nyala-metrics".into()).spawn(serve).map_err(failed)?;
        tracing::info!(%address, "metrics are served at /metrics");
        Ok(())
    }
}

/// Where scrapes ask the service.
#[derive(Debug)]
pub struct Scrapes {
    asked: mpsc::Receiver<oneshot::Sender<String>>,
    pages: Pages,
}

impl Scrapes {
    /// Serves at an address, or over HTTP nowhere.
    pub fn at(address: Option<SocketAddr>) -> Result<Scrapes, ScrapeError> {
        match address {
            Some(address) => Endpoint::bind(address)?.serve(),
            None => Ok(Scrapes::nowhere()),
        }
    }

    fn nowhere() -> Scrapes {
        let (asks, asked) = mpsc::channel(1);
        Scrapes { asked, pages: Pages::new(asks) }
    }

    /// The same pages for whoever asks in another way than over HTTP.
    pub fn pages(&self) -> Pages {
        self.pages.clone()
    }

    /// Answers scrapes with pages that `write` fills; for ever.
    pub async fn answer(&mut self, mut write: impl FnMut(&mut Page)) -> Infallible {
        while let Some(ask) = self.asked.recv().await {
            let mut page = Page::new();
            write(&mut page);
            // Whoever is gone does not want to know.
            let _ = ask.send(page.finish());
        }
        std::future::pending().await
    }
}
