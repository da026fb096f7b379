// SPDX-License-Identifier: Apache-2.0

//! Runs phases: threads that live as long as the site, each with a runtime of its own and its share of the tasks.
//!
//! **Failure model.** A task that fails makes the others of its phase end early, and its message is the phase's. All
//! tasks start together, after all have opened what they need, also when one could not. A thread that died is reported
//! rather than waited for.

use super::driver::{Content, Mode, Result, Site, Task};
use super::measure::latency::Latency;
use super::plan::Phase;
use super::stop::Stop;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, mpsc};
use tokio::task::LocalSet;

/// What all tasks of a phase share.
struct Shared {
    phase: Phase,
    /// How many operations each task did in the phase that made what this one uses.
    made: Vec<u64>,
    content: Content,
    limit: Option<Duration>,
    start: Barrier,
    failed: AtomicBool,
    stop: Stop,
}

/// What tasks of one thread did.
#[derive(Default)]
struct Share {
    latency: Latency,
    done: Vec<(usize, u64)>,
    items: u64,
    bytes: u64,
    began: Option<Instant>,
    ended: Option<Instant>,
    cached: bool,
    error: Option<String>,
}

struct Job {
    shared: Arc<Shared>,
    tasks: Vec<usize>,
    answer: mpsc::UnboundedSender<Share>,
}

/// What a phase did.
pub struct Outcome {
    /// Latency of all operations.
    pub latency: Latency,
    /// Operations by task.
    pub done: Vec<u64>,
    /// Entries listed, or operations.
    pub items: u64,
    /// Content moved, bytes.
    pub bytes: u64,
    /// From the first operation to the last one's end, fsync included.
    pub took: Duration,
    /// Whether a file that was to bypass the page cache could not.
    pub cached: bool,
}

/// The threads of a site.
pub struct Workers {
    senders: Vec<mpsc::UnboundedSender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts them.
    pub fn start<S: Site>(site: &Arc<S>, threads: usize) -> Result<Workers> {
        let mut workers = Workers { senders: Vec::new(), threads: Vec::new() };
        for number in 0..threads {
            let (sender, jobs) = mpsc::unbounded_channel();
            let site = site.clone();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
            let work = move || LocalSet::new().block_on(&runtime, serve(site, jobs));
            let thread = std::thread::Builder::new().name(format!("bench-{number}")).spawn(work);
            workers.threads.push(thread.map_err(|error| format!("no thread: {error}"))?);
            workers.senders.push(sender);
        }
        Ok(workers)
    }

    /// Runs a phase to its end.
    pub async fn run(
        &self,
        phase: &Phase,
        made: &[u64],
        content: &Content,
        limit: Option<Duration>,
        stop: &Stop,
    ) -> Result<Outcome> {
        let shared = Arc::new(Shared {
            phase: phase.clone(),
            made: made.to_vec(),
            content: content.clone(),
            limit: limit.filter(|_| !phase.whole),
            start: Barrier::new(phase.tasks),
            failed: AtomicBool::new(false),
            stop: stop.clone(),
        });
        let (answer, mut answers) = mpsc::unbounded_channel();
        for (number, sender) in self.senders.iter().enumerate() {
            let tasks = (number..phase.tasks).step_by(self.senders.len()).collect();
            let job = Job { shared: shared.clone(), tasks, answer: answer.clone() };
            sender.send(job).map_err(|_| "a thread of the benchmark has died".to_owned())?;
        }
        drop(answer);
        let mut whole = Share::default();
        let mut count = 0;
        while let Some(share) = answers.recv().await {
            whole.absorb(share);
            count += 1;
        }
        if count != self.senders.len() {
            return Err("a thread of the benchmark has died".to_owned());
        }
        whole.outcome(phase.tasks)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.senders.clear();
        for thread in self.threads.drain(..) {
            // why ignored: a thread that panicked has been reported by its missing answer.
            let _ = thread.join();
        }
    }
}

impl Share {
    fn absorb(&mut self, other: Share) {
        self.latency.add(&other.latency);
        self.done.extend(other.done);
        self.items += other.items;
        self.bytes += other.bytes;
        self.began = [self.began, other.began].into_iter().flatten().min();
        self.ended = self.ended.max(other.ended);
        self.cached |= other.cached;
        self.error = self.error.take().or(other.error);
    }

    fn outcome(mut self, tasks: usize) -> Result<Outcome> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut done = vec![0; tasks];
        for (task, count) in self.done {
            done[task] = count;
        }
        let took = match (self.began, self.ended) {
            (Some(began), Some(ended)) => ended - began,
            _ => Duration::ZERO,
        };
        let Share { latency, items, bytes, cached, .. } = self;
        Ok(Outcome { latency, done, items, bytes, took, cached })
    }
}

async fn serve<S: Site>(site: Arc<S>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        let share = Rc::new(RefCell::new(Share::default()));
        let running: Vec<_> = job
            .tasks
            .iter()
            .map(|&number| {
                let task = site.task(job.shared.content.clone());
                tokio::task::spawn_local(one(task, number, job.shared.clone(), share.clone()))
            })
            .collect();
        for task in running {
            if let Err(error) = task.await {
                share.borrow_mut().error.get_or_insert(format!("a task of the benchmark died: {error}"));
            }
        }
        // why ignored: nobody waits any more when the benchmark was ended.
        let _ = job.answer.send(share.take());
    }
}

async fn one<T: Task>(mut task: T, number: usize, shared: Arc<Shared>, share: Rc<RefCell<Share>>) {
    let phase = &shared.phase;
    let mut result = Ok(());
    if phase.step.is_transfer() {
        let mode = Mode { create: phase.step.makes(), write: phase.step.is_write(), direct: phase.direct };
        match task.open(&phase.file(number), mode).await {
            Ok(direct) => share.borrow_mut().cached |= phase.direct && !direct,
            Err(error) => result = Err(error),
        }
    }
    shared.start.wait().await;
    let began = Instant::now();
    let mut done = 0;
    if result.is_ok() {
        result = operations(&mut task, number, &shared, &share, &mut done, began).await;
    }
    let closed = task.close(phase.step.is_write()).await;
    let mut share = share.borrow_mut();
    share.began = [share.began, Some(began)].into_iter().flatten().min();
    share.ended = share.ended.max(Some(Instant::now()));
    share.done.push((number, done));
    if let Err(error) = result.and(closed) {
        shared.failed.store(true, Ordering::Relaxed);
        share.error.get_or_insert(error);
    }
}

async fn operations<T: Task>(
    task: &mut T,
    number: usize,
    shared: &Shared,
    share: &RefCell<Share>,
    done: &mut u64,
    began: Instant,
) -> Result<()> {
    let count = shared.phase.count_after(&shared.made, number);
    let mut last = began;
    while *done < count {
        if shared.stop.wanted() || shared.failed.load(Ordering::Relaxed) {
            break;
        }
        if shared.limit.is_some_and(|limit| last - began >= limit) {
            break;
        }
        let op = shared.phase.op(number, *done);
        let start = Instant::now();
        let did = task.run(&op).await?;
        last = Instant::now();
        *done += 1;
        let mut share = share.borrow_mut();
        share.latency.record(last - start);
        share.items += did.items;
        share.bytes += did.bytes;
    }
    Ok(())
}
