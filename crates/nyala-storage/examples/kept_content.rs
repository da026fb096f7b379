// SPDX-License-Identifier: Apache-2.0

//! What keeping overwritten content of chunk files costs on a file system, and what it does to the files (decision 0038):
//! `cargo run -p nyala-storage --example kept_content DIRECTORY`.
//!
//! A round is a snapshot, and then first overwrites: of one region of 256 KiB out of eight (at least one of each file), either 8 random
//! blocks of 4 KiB or the whole. Content is kept in units: the file when the round begins (FICLONE), or so many KiB around
//! what is overwritten, by `copy_file_range` into a sparse file (*shared*: FICLONERANGE where the file system has it) or by reading and
//! writing (*copied*). Writes and reads are direct. Times are CPU of this process: what the kernel does on threads of its own (the
//! log, btrfs's transactions) is not in it, so only ratios within one run say something.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nyala_wire::splitmix::{GAMMA, mix};

const REGION: u64 = 256 << 10;
const BLOCK: u64 = 4096;
const BLOCKS_PER_REGION: u64 = 8;
const ROUNDS: u64 = 100;
/// Bytes of all files of one size together.
const BYTES: u64 = 64 << 20;

/// How content is kept.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Not,
    File,
    Shared(u64),
    Copied(u64),
}

const WAYS: [(&str, Way, u64); 9] = [
    ("4 KiB, not kept", Way::Not, BLOCK),
    ("4 KiB, file shared", Way::File, BLOCK),
    ("4 KiB, 256 KiB shared", Way::Shared(REGION), BLOCK),
    ("4 KiB, 256 KiB copied", Way::Copied(REGION), BLOCK),
    ("4 KiB, 64 KiB copied", Way::Copied(REGION / 4), BLOCK),
    ("4 KiB, 4 KiB copied", Way::Copied(BLOCK), BLOCK),
    ("256 KiB, not kept", Way::Not, REGION),
    ("256 KiB, 256 KiB shared", Way::Shared(REGION), REGION),
    ("256 KiB, 256 KiB copied", Way::Copied(REGION), REGION),
];

fn main() -> Result<()> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or_else(|| std::io::Error::other("name a directory"))?);
    println!("                            |   CPU µs of one   | extents |   used MiB | direct read");
    println!("overwrite, way        round | keeping overwrite | per MiB |  per round | CPU ÷ first");
    for file_bytes in [512 << 10, 16 << 20] {
        println!("chunk files of {} KiB", file_bytes >> 10);
        for (name, way, write_bytes) in WAYS {
            let inside = dir.join("kept_content");
            std::fs::create_dir(&inside)?;
            let result = run(&inside, name, way, write_bytes, file_bytes);
            std::fs::remove_dir_all(&inside)?;
            match result {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    println!("{name}: this file system shares no blocks")
                }
                other => other?,
            }
        }
    }
    Ok(())
}

struct Chunks {
    dir: PathBuf,
    files: Vec<File>,
    bytes: u64,
    way: Way,
    write_bytes: u64,
    random: u64,
    buffer: Aligned,
}

#[derive(Default)]
struct Sums {
    keeping: (Duration, u64),
    overwriting: (Duration, u64),
}

fn run(dir: &Path, name: &str, way: Way, write_bytes: u64, bytes: u64) -> Result<()> {
    let buffer = Aligned::new();
    let mut chunks = Chunks { dir: dir.into(), files: Vec::new(), bytes, way, write_bytes, random: 1, buffer };
    for n in 0..BYTES / bytes {
        let file = open(&dir.join(n.to_string()))?;
        for at in (0..bytes).step_by(REGION as usize) {
            file.write_all_at(chunks.buffer.get(REGION), at)?;
        }
        file.sync_all()?;
        chunks.files.push(file);
    }
    let (first_read, mut used, mut sums) = (chunks.read_cpu()?, used_mib(dir)?, Sums::default());
    let mut since = 0;
    for round in 1..=ROUNDS {
        chunks.round(round, &mut sums)?;
        if ![1, 10, 90, 100].contains(&round) {
            continue;
        }
        let now = used_mib(dir)?;
        if round != 90 {
            let read = chunks.read_cpu()?.as_secs_f64() / first_read.as_secs_f64();
            let (keep, over) = (per(sums.keeping), per(sums.overwriting));
            let grown = (now - used) / (round - since) as f64;
            let extents = chunks.extents()? as f64 / (BYTES >> 20) as f64;
            println!("{name:23} {round:3} | {keep:7.1} {over:9.1} | {extents:7.1} | {grown:10.2} | {read:11.2}");
        }
        (used, since, sums) = (now, round, Sums::default());
    }
    Ok(())
}

impl Chunks {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random += 1;
        mix(self.random.wrapping_mul(GAMMA)) % end
    }

    fn round(&mut self, round: u64, sums: &mut Sums) -> Result<()> {
        let regions = (self.bytes / REGION / 8).max(1);
        for at in 0..self.files.len() {
            let path = self.dir.join(format!("{at}.kept{round}"));
            let kept = if self.way == Way::Not { None } else { Some(open(&path)?) };
            if let (Way::File, Some(kept)) = (self.way, &kept) {
                let began = cpu_time();
                rustix::fs::ioctl_ficlone(kept, &self.files[at])?;
                add(&mut sums.keeping, began);
            }
            let mut units = BTreeSet::new();
            for _ in 0..regions {
                let start = self.below(self.bytes / REGION) * REGION;
                for _ in 0..(REGION / self.write_bytes).min(BLOCKS_PER_REGION) {
                    let place = start + self.below(REGION / self.write_bytes) * self.write_bytes;
                    if let Some(kept) = &kept {
                        self.keep(at, kept, place, &mut units, sums)?;
                    }
                    let began = cpu_time();
                    self.files[at].write_all_at(self.buffer.get(self.write_bytes), place)?;
                    add(&mut sums.overwriting, began);
                }
            }
        }
        rustix::fs::syncfs(&self.files[0])?;
        Ok(())
    }

    /// Keeps the unit around a place, unless this round has it.
    fn keep(&mut self, at: usize, kept: &File, place: u64, units: &mut BTreeSet<u64>, sums: &mut Sums) -> Result<()> {
        let (Way::Shared(unit) | Way::Copied(unit)) = self.way else { return Ok(()) };
        let start = place / unit * unit;
        if !units.insert(start) {
            return Ok(());
        }
        let began = cpu_time();
        if self.way == Way::Shared(unit) {
            keep_region(&self.files[at], kept, start)?;
        } else {
            self.files[at].read_exact_at(self.buffer.get(unit), start)?;
            kept.write_all_at(self.buffer.get(unit), start)?;
        }
        add(&mut sums.keeping, began);
        Ok(())
    }

    /// CPU of reading all files once: the least of three times.
    fn read_cpu(&mut self) -> Result<Duration> {
        let mut least = Duration::MAX;
        for _ in 0..3 {
            let began = cpu_time();
            for file in &self.files {
                for at in (0..self.bytes).step_by(REGION as usize) {
                    file.read_exact_at(self.buffer.get(REGION), at)?;
                }
            }
            least = least.min(cpu_time() - began);
        }
        Ok(least)
    }

    /// Extents of all files, as `filefrag` counts them.
    fn extents(&self) -> Result<u64> {
        let files = (0..self.files.len()).map(|n| self.dir.join(n.to_string()));
        let said = std::process::Command::new("filefrag").args(files).output()?.stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        let counts = said.lines().filter_map(|line| line.rsplit(": ").next()?.split(' ').next()?.parse::<u64>().ok());
        Ok(counts.sum())
    }
}

fn keep_region(from: &File, to: &File, start: u64) -> Result<()> {
    let (mut at, mut out) = (start, start);
    while at < start + REGION {
        let left = (start + REGION - at) as usize;
        rustix::fs::copy_file_range(from, Some(&mut at), to, Some(&mut out), left)?;
    }
    Ok(())
}

/// Memory that direct I/O takes: 256 KiB at a multiple of 4,096.
struct Aligned(Vec<u8>);

impl Aligned {
    fn new() -> Aligned {
        Aligned(vec![7; (REGION + BLOCK) as usize])
    }

    fn get(&mut self, len: u64) -> &mut [u8] {
        let start = self.0.as_ptr().align_offset(BLOCK as usize);
        &mut self.0[start..start + len as usize]
    }
}

fn open(path: &Path) -> Result<File> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(direct).open(path)
}

fn used_mib(dir: &Path) -> Result<f64> {
    let file = File::open(dir)?;
    rustix::fs::syncfs(&file)?;
    let all = rustix::fs::fstatvfs(&file)?;
    Ok((all.f_blocks - all.f_bfree) as f64 * all.f_frsize as f64 / f64::from(1 << 20))
}

fn add(sum: &mut (Duration, u64), began: Duration) {
    sum.0 += cpu_time() - began;
    sum.1 += 1;
}

fn per((time, count): (Duration, u64)) -> f64 {
    if count == 0 { 0.0 } else { time.as_secs_f64() * 1e6 / count as f64 }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
