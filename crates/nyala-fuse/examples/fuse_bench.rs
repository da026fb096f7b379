// SPDX-License-Identifier: Apache-2.0

//! What a request costs on each transport: `cargo run --release -p nyala-fuse --example fuse_bench [SECONDS [ROUNDS]]`.
//!
//! A file system of one endless file that does nothing and lets the kernel cache nothing, on a real mount (as root). Client
//! and session are threads of this process: CPU is that of both. Rounds alternate between the transports; the highest
//! rate and the least CPU of all rounds are shown, since whatever else the machine does can only spoil them. The kernel's switch for io_uring is set and put back.

use bytes::Bytes;
use nyala_fuse::mount::{Mount, MountOptions};
use nyala_fuse::types::*;
use nyala_fuse::{Handler, Session, SessionConfig, Transport, WriteData};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";
const MIB: usize = 1 << 20;
const SIZE: u64 = 1 << 30;
type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Null {
    data: Bytes,
}

fn attr(ino: u64) -> Attr {
    let (mode, size) = if ino == 1 { (libc::S_IFDIR | 0o755, 0) } else { (libc::S_IFREG | 0o644, SIZE) };
    let (time, nlink, blocks) = (Timestamp::default(), 1, size / 512);
    let (atime, mtime, ctime) = (time, time, time);
    Attr { ino, size, blocks, atime, mtime, ctime, mode, nlink, uid: 0, gid: 0, rdev: 0, blksize: 4096 }
}

impl Handler for Null {
    async fn lookup(&self, _: &Context, _: Ino, _: &[u8]) -> Result<Entry> {
        let (entry_ttl, attr_ttl) = (Duration::ZERO, Duration::ZERO);
        Ok(Entry { ino: Ino(2), generation: 0, attr: attr(2), entry_ttl, attr_ttl })
    }

    async fn getattr(&self, _: &Context, ino: Ino, _: Option<Fh>) -> Result<Attributes> {
        Ok(Attributes { attr: attr(ino.0), ttl: Duration::ZERO })
    }

    async fn open(&self, _: &Context, _: Ino, _: &OpenArgs) -> Result<Opened> {
        Ok(Opened { fh: Fh(0), mode: OpenMode { parallel_direct_writes: true, ..OpenMode::default() } })
    }

    async fn read(&self, _: &Context, _: Ino, args: &ReadArgs) -> Result<ReadData> {
        Ok(self.data.slice(..args.size as usize).into())
    }

    async fn write(&self, _: &Context, _: Ino, _: &WriteArgs, data: WriteData) -> Result<u32> {
        Ok(data.len() as u32)
    }
}

#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    threads: usize,
    direct: bool,
    /// Bytes of a request; zero: GETATTR.
    bytes: usize,
    write: bool,
}

const WORK: &[Work] = &[
    Work { name: "getattr, 1 thread", threads: 1, direct: false, bytes: 0, write: false },
    Work { name: "getattr, 4 threads", threads: 4, direct: false, bytes: 0, write: false },
    Work { name: "read 4 KiB direct, 1 thread", threads: 1, direct: true, bytes: 4096, write: false },
    Work { name: "read 4 KiB direct, 4 threads", threads: 4, direct: true, bytes: 4096, write: false },
    Work { name: "write 4 KiB direct, 4 threads", threads: 4, direct: true, bytes: 4096, write: true },
    Work { name: "read 1 MiB direct", threads: 1, direct: true, bytes: MIB, write: false },
    Work { name: "write 1 MiB direct", threads: 1, direct: true, bytes: MIB, write: true },
    Work { name: "read 1 MiB cached", threads: 1, direct: false, bytes: MIB, write: false },
    Work { name: "write 1 MiB cached", threads: 1, direct: false, bytes: MIB, write: true },
];

const TRANSPORTS: &[(&str, Transport, usize)] =
    &[("device", Transport::Dev, 1), ("one ring", Transport::Uring, 1), ("ring per CPU", Transport::Uring, 2)];

/// Requests per second, and microseconds of CPU per request.
type Figure = (f64, f64);

fn cpu() -> std::io::Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// A buffer that starts on a page, as direct I/O wants it.
fn aligned(room: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    room.resize(bytes + 4096, 0);
    let start = room.as_ptr().align_offset(4096);
    &mut room[start..start + bytes]
}

fn client(work: Work, file: &File, number: usize, over: &AtomicBool) -> std::io::Result<u64> {
    let mut room = Vec::new();
    let buf = aligned(&mut room, work.bytes);
    let (mut done, mut offset) = (0, number as u64 * (SIZE / 8));
    while !over.load(Ordering::Relaxed) {
        match work {
            Work { bytes: 0, .. } => file.metadata().map(|_| ())?,
            Work { write: true, .. } => file.write_all_at(buf, offset)?,
            _ => file.read_exact_at(buf, offset)?,
        }
        done += 1;
        offset = (offset + work.bytes as u64) % (SIZE - MIB as u64);
    }
    Ok(done)
}

fn measure(root: &Path, work: Work, time: Duration) -> std::result::Result<Figure, Failure> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(if work.direct { libc::O_DIRECT } else { 0 });
    let file = options.open(root.join("file"))?;
    let (over, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let (started, cpu_before) = (Instant::now(), cpu()?);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..work.threads)
            .map(|number| {
                let (file, over, total) = (&file, &over, &total);
                scope
                    .spawn(move || client(work, file, number, over).map(|done| total.fetch_add(done, Ordering::SeqCst)))
            })
            .collect();
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| "a client panicked")?.map(drop).map_err(Failure::from))
    })?;
    let (took, used, total) = (started.elapsed(), cpu()? - cpu_before, total.into_inner().max(1) as f64);
    Ok((total / took.as_secs_f64(), used.as_secs_f64() * 1e6 / total))
}

/// Puts the kernel's switch for io_uring back when dropped.
struct Switched(Option<String>);

impl Switched {
    fn on() -> Switched {
        let before = fs::read_to_string(SWITCH).ok();
        if let Err(error) = fs::write(SWITCH, "Y") {
            eprintln!("{SWITCH}: {error}");
        }
        Switched(before)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = fs::write(SWITCH, before.trim());
        }
    }
}

/// One transport's figures, in the order of `WORK`.
fn round(transport: Transport, threads: usize, time: Duration) -> std::result::Result<Vec<Figure>, Failure> {
    let dir = tempfile::tempdir()?;
    // The kernel looks at the switch when it offers and when it hears the answer.
    let _switched = Switched::on();
    let mount = Mount::new(&MountOptions::new("null:/", dir.path()))?;
    let config = SessionConfig { transport, threads, ..SessionConfig::default() };
    let (tell, told) = mpsc::channel();
    let read_ahead = mount.read_ahead();
    let handler = Arc::new(Null { data: Bytes::from(vec![7; MIB]) });
    let session = Session::new(mount.device(), handler, config).on_ready(move |_| {
        let _ = tell.send(read_ahead.set(1024));
    });
    let session = std::thread::spawn(move || session.run());
    let ready = told.recv_timeout(Duration::from_secs(10));
    let Ok(read_ahead) = ready else {
        mount.unmount(true)?;
        session.join().map_err(|_| "the session panicked")??;
        return Err("the session did not begin".into());
    };
    read_ahead?;
    let figures = WORK.iter().map(|work| measure(dir.path(), *work, time)).collect();
    mount.unmount(true)?;
    session.join().map_err(|_| "the session panicked")??;
    figures
}

fn main() -> std::result::Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let time = Duration::from_secs_f64(args.next().map_or(Ok(0.5), |arg| arg.parse())?);
    let rounds: usize = args.next().map_or(Ok(5), |arg| arg.parse())?;
    let mut all: Vec<Vec<Vec<Figure>>> = vec![Vec::new(); TRANSPORTS.len()];
    for _ in 0..rounds.max(1) {
        for ((_, transport, threads), figures) in TRANSPORTS.iter().zip(&mut all) {
            figures.push(round(*transport, *threads, time)?);
        }
    }
    println!("{:32}{:>26}{:>26}{:>26}", "", TRANSPORTS[0].0, TRANSPORTS[1].0, TRANSPORTS[2].0);
    for (index, work) in WORK.iter().enumerate() {
        print!("{:32}", work.name);
        for figures in &all {
            let of_work = || figures.iter().map(|round| round[index]);
            let rate = of_work().map(|(rate, _)| rate).fold(0.0, f64::max);
            let cost = of_work().map(|(_, cost)| cost).fold(f64::INFINITY, f64::min);
            if work.bytes == MIB {
                print!("{:>10.2} GiB/s{:>7.3} s/GiB", rate / 1024.0, cost * 1024.0 / 1e6);
            } else {
                print!("{:>12.0}/s{:>9.2} µs", rate, cost);
            }
        }
        println!();
    }
    Ok(())
}
