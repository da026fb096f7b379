// SPDX-License-Identifier: Apache-2.0

//! Start, rounds and end of the service.
//!
//! **Failure model.** Ports and the directory may be another's, files of secrets may be wrong: then it does not start, and says what to do.

use crate::api;
use crate::config::{MonConfig, MonError};
use crate::disk::Disk;
use crate::influx::Influx;
use crate::logic::outbox::Outbox;
use crate::rounds::sample;
use crate::sampler::Sampler;
use crate::secrets::token_is_good;
use crate::state::Shared;
use crate::writer::{note, write};
use nyala_scrape::Scrapes;
use nyala_transport::Secret;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::{Mutex, Notify};

/// Done when the service is to end.
type Shutdown<'a> = Pin<&'a mut dyn Future<Output = ()>>;

/// A monitoring service that is open and listens, but does not sample yet.
pub struct Mon {
    config: MonConfig,
    secret: Secret,
    disk: Disk,
    shared: Rc<Shared>,
    scrapes: Scrapes,
    listener: TcpListener,
    influx: Option<Influx>,
    outbox: Outbox,
    rounds: Arc<AtomicU64>,
}

impl Mon {
    /// Takes the directory and the ports; reads the history. Blocks on the disk.
    pub fn open(config: MonConfig) -> Result<Mon, MonError> {
        if !config.listen.ip().is_loopback() && !config.insecure {
            return Err(MonError::Insecure(config.listen));
        }
        let secret = Secret::load(&config.secret_file)?;
        let influx = config.influx.clone().map(Influx::new).transpose()?;
        let mut disk = Disk::open(&config.dir)?;
        let token = disk.token()?;
        if !token_is_good(&token) {
            let reason = "a token is longer; remove the file to get a new one".to_owned();
            return Err(MonError::Token { path: config.dir.join("mon.token"), reason });
        }
        let listener = TcpListener::bind(config.listen).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(|cause| MonError::Listen { address: config.listen, cause })?;
        let scrapes = Scrapes::at(config.metrics)?;
        let history = disk.load(config.limits)?;
        let outbox = Outbox::new(disk.sent_ms());
        let shared = Rc::new(Shared::new(history, token));
        Ok(Mon { config, secret, disk, shared, scrapes, listener, influx, outbox, rounds: Arc::default() })
    }

    /// Where queries are answered; tells the port where 0 was configured.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.config.listen)
    }

    /// The number of rounds that were taken and kept: it grows as long as the service is alive.
    pub fn alive(&self) -> Arc<AtomicU64> {
        self.rounds.clone()
    }

    /// Samples until `shutdown`. In a `LocalSet` on a current-thread runtime.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), MonError> {
        let mut shutdown = std::pin::pin!(shutdown);
        self.run_here(shutdown.as_mut()).await
    }

    /// Neither generic nor `async`: so the service's code is made once, in this crate, and not in each that awaits it.
    fn run_here<'a>(self, shutdown: Shutdown<'a>) -> Pin<Box<dyn Future<Output = Result<(), MonError>> + 'a>> {
        Box::pin(self.serve(shutdown))
    }

    async fn serve(self, shutdown: Shutdown<'_>) -> Result<(), MonError> {
        let (address, shared) = (self.address(), self.shared);
        let failed = |cause| MonError::Listen { address, cause };
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(failed)?;
        tracing::info!(%address, dir = %self.config.dir.display(), interval = ?self.config.interval, "monitoring service runs");
        let sampler = Sampler::new(self.config.mgmt.clone(), self.secret, self.config.encrypt);
        let (sampled, disk) = (Notify::new(), Arc::new(Mutex::new(self.disk)));
        let mut scrapes = self.scrapes;
        let mut outbox = self.outbox;
        let ticking = sample(&shared, sampler, &disk, self.config.interval, &sampled, &self.rounds);
        let writing = write(&shared, self.influx, &mut outbox, &disk, &sampled);
        tokio::select! {
            never = ticking => match never {},
            never = writing => match never {},
            never = api::serve(listener, shared.clone()) => match never {},
            never = scrapes.answer(|page| shared.counters.borrow().write(page, &shared.history.borrow())) => match never {},
            () = shutdown => {}
        }
        note(&disk, outbox.sent_ms()).await;
        Ok(())
    }
}
