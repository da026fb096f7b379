// SPDX-License-Identifier: Apache-2.0

//! What storage services pay for a mirrored request, next to the same request without a mirror, in one run: CPU time of both
//! services together, over loopback TCP.
//!
//! `cargo run --release -p nyala-storage --example mirror_bench [directory [rounds [only rows with this in their name]]]`
//!
//! The two services run in one process, the client in another one. Each round does every row without and with the mirror, one
//! after the other; the table has the median of the rounds.
//!
//! Instructions do not depend on what else the machine does. `mirror_bench serve [directory]` under `valgrind --tool=callgrind` prints
//! two addresses and a file; `mirror_bench drive` with these three, `alone` or `mirrored`, a number of 4 KiB writes and how many
//! at once does them. With `callgrind_control --zero` before and `--dump` after it, the sum of the dump is theirs.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/mirror/group.rs"]
#[allow(dead_code)]
mod group;

use bytes::Bytes;
use common::{Cluster, client};
use group::{A, B, GROUP};
use nyala_transport::{Connection, HandshakeConfig, Request, Role, Secret};
use nyala_wire::checksum::crc32c;
use nyala_wire::map::MemberState;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{ReadHeader, WriteHeader, encode_bulk};
use nyala_wire::{ErrorCode, InodeId, TargetId, WireError, codec, message_type};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

const BIG: usize = 512 << 10;
const SMALL: usize = 4096;
/// Bytes that each row of large requests moves.
const TOTAL: usize = 512 << 20;
const SMALL_OPS: usize = 40_000;
const FILES: usize = 4;
const SESSION: u64 = 1;
/// Blocks of each file where instructions are counted: within one region, so that few intents are written.
const DRIVEN: u64 = 128;

/// What a row does.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    write: bool,
    bytes: usize,
    ops: usize,
    deep: usize,
    /// Who is asked when there is a mirror.
    at: TargetId,
    /// The most that the mirror may cost, by what it costs without.
    aim: f64,
}

const fn row(name: &'static str, write: bool, big: bool, deep: usize, at: TargetId, aim: f64) -> Row {
    let (bytes, ops) = if big { (BIG, TOTAL / BIG) } else { (SMALL, SMALL_OPS) };
    Row { name, write, bytes, ops, deep, at, aim }
}

const ROWS: [Row; 7] = [
    row("write 512 KiB, 8 deep", true, true, 8, A, 2.3),
    row("write 4 KiB, 32 deep", true, false, 32, A, 2.5),
    row("write 4 KiB, 1 deep", true, false, 1, A, 2.5),
    row("read 512 KiB, 8 deep, at the primary", false, true, 8, A, 1.1),
    row("read 512 KiB, 8 deep, at the other", false, true, 8, B, 1.1),
    row("read 4 KiB, 32 deep, at the primary", false, false, 32, A, 1.1),
    row("read 4 KiB, 32 deep, at the other", false, false, 32, B, 1.1),
];

/// One road to the data.
struct Road {
    to: Connection,
    mirrored: bool,
    data: Bytes,
    crcs: Rc<[u32]>,
    number: Rc<Cell<u64>>,
    /// Blocks of each file that small requests go to.
    blocks: u64,
}

impl Road {
    /// The inode of file `n`: other files with a mirror than without.
    fn inode(&self, n: usize) -> InodeId {
        InodeId(1 << 48 | u64::from(self.mirrored) << 32 | (n as u64 + 1))
    }

    /// File and offset of operation `n`: large ones in order, small ones anywhere in what the large ones wrote.
    fn file_and_offset(&self, n: usize, bytes: usize) -> (InodeId, u64) {
        if bytes == BIG {
            return (self.inode(n % FILES), (n / FILES * BIG) as u64);
        }
        let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (self.inode(mixed as usize % FILES), mixed / FILES as u64 % self.blocks * SMALL as u64)
    }

    fn request(&self, row: &Row, n: usize) -> Request {
        let (inode, offset) = self.file_and_offset(n, row.bytes);
        let (target, len) = (A.0.into(), (row.bytes as u32).into());
        let (kind, body, payload) = match row.write {
            true => {
                let checksums = row.bytes / SMALL;
                let header = WriteHeader {
                    target,
                    index: 0.into(),
                    flags: 0.into(),
                    inode: inode.0.into(),
                    offset: offset.into(),
                    session: SESSION.into(),
                    len,
                    checksums: (checksums as u32).into(),
                    client: 0.into(),
                    number: 0.into(),
                    slot: 0.into(),
                    reserved: 0.into(),
                };
                let body = encode_bulk(&header, &self.crcs[..checksums]);
                (message_type::STORAGE_WRITE, body, vec![self.data.slice(..row.bytes)])
            }
            false => {
                let header = ReadHeader {
                    target,
                    index: 0.into(),
                    flags: 0.into(),
                    inode: inode.0.into(),
                    offset: offset.into(),
                    len,
                    reserved: 0.into(),
                };
                (message_type::STORAGE_READ, encode_bulk(&header, &[]), Vec::new())
            }
        };
        if !self.mirrored {
            return Request::new(kind, body).with_payload(payload);
        }
        let number = self.number.get() + 1;
        self.number.set(number);
        let header = GroupHeader {
            group: GROUP.0.into(),
            kind: kind.into(),
            pass_on: 0.into(),
            client: 77.into(),
            number: number.into(),
            lowest: number.saturating_sub(row.deep as u64 + 1).into(),
        };
        Request::new(message_type::STORAGE_GROUP, header.wrap(&body)).at(1, 1).with_payload(payload)
    }

    async fn cpu_us(&self) -> u64 {
        let reply = self.to.call(Request::new(message_type::STATS, Bytes::new())).await.expect("stats");
        codec::decode::<ServiceStats>(&reply.body).expect("stats").cpu_us
    }

    /// CPU of the services, microseconds for an operation, without what they take in that time anyway (`idle`, of a second); and
    /// operations a second.
    async fn measure(self: &Rc<Self>, row: Row, idle: f64) -> (f64, f64) {
        let (cpu, start, next) = (self.cpu_us().await, Instant::now(), Rc::new(Cell::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..row.deep {
            let (road, next) = (self.clone(), next.clone());
            tasks.spawn_local(async move {
                while next.get() < row.ops {
                    let n = next.replace(next.get() + 1);
                    let reply = road.to.call(road.request(&row, n)).await.expect("answered");
                    assert!(!reply.is_error(), "{:?}", codec::decode::<WireError>(&reply.body));
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a client's task");
        }
        let wall = start.elapsed().as_secs_f64();
        let cpu = (self.cpu_us().await - cpu) as f64 - idle * wall * 1e6;
        (cpu / row.ops as f64, row.ops as f64 / wall)
    }
}

/// The servers' side, in a process of its own so that its CPU time can be told from the client's.
fn serve(dir: &Path) {
    let cluster = Cluster::start_in(dir);
    let (a, b) = (cluster.storage(group::config(&cluster, A)), cluster.storage(group::config(&cluster, B)));
    group::set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::Good, Some(&b))], true);
    println!("{} {} {}", a.address, b.address, cluster.dir.path().join("secret").display());
    // An error is the end, too.
    let _ = std::io::stdin().read_line(&mut String::new());
    a.stop().expect("an orderly stop");
    b.stop().expect("an orderly stop");
}

async fn connect(address: SocketAddr, secret: &Secret) -> Connection {
    let config = HandshakeConfig::new(secret.clone(), u128::from_le_bytes(common::CLUSTER.0), Role::Client, 0);
    for _ in 0..100 {
        if let Ok(connection) = Connection::connect(address, &config).await {
            return connection;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no service at {address}");
}

/// Waits until the group serves.
async fn until_it_leads(road: &Road) {
    let first = Row { bytes: SMALL, deep: 0, ..ROWS[0] };
    loop {
        let reply = road.to.call(road.request(&first, 0)).await.expect("answered");
        if !reply.is_error() {
            return;
        }
        let error = codec::decode::<WireError>(&reply.body).expect("an error");
        assert!(
            [ErrorCode::NOT_READY, ErrorCode::WRONG_EPOCH, ErrorCode::WRONG_SERVER].contains(&error.code),
            "{error}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Short writes, and nothing else.
async fn drive(addresses: [SocketAddr; 2], secret: Secret, mirrored: bool, ops: usize, deep: usize) {
    let data = Bytes::from(vec![0x5a; BIG]);
    let crcs: Rc<[u32]> = data.chunks(SMALL).map(crc32c).collect();
    // Numbers of an earlier run are not used again.
    let began = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64);
    let to = connect(addresses[0], &secret).await;
    let road = Rc::new(Road { to, mirrored, data, crcs, number: Rc::new(Cell::new(began)), blocks: DRIVEN });
    if mirrored {
        until_it_leads(&road).await;
    }
    let row = Row { ops, deep, ..ROWS[1] };
    let (cpu, rate) = road.measure(row, 0.0).await;
    println!("{ops} writes, {deep} deep: {cpu:.2} us CPU each, {rate:.0} in a second");
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

async fn run(a: SocketAddr, b: SocketAddr, secret: Secret, rounds: usize, only: Option<String>) {
    let data = Bytes::from(vec![0x5a; BIG]);
    let crcs: Rc<[u32]> = data.chunks(SMALL).map(crc32c).collect();
    let number = Rc::new(Cell::new(0));
    let road = async |address, mirrored| {
        let to = connect(address, &secret).await;
        let (data, crcs, number) = (data.clone(), crcs.clone(), number.clone());
        Rc::new(Road { to, mirrored, data, crcs, number, blocks: (TOTAL / FILES / SMALL) as u64 })
    };
    let (plain, primary, other) = (road(a, false).await, road(a, true).await, road(b, true).await);
    until_it_leads(&primary).await;
    // What is read later is there, and memory has been touched.
    for road in [&plain, &primary] {
        road.measure(ROWS[0], 0.0).await;
    }
    // The other member knows what is committed, and no intent is open.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (before, start) = (plain.cpu_us().await, Instant::now());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = (plain.cpu_us().await - before) as f64 / 1e6 / start.elapsed().as_secs_f64();
    println!("Idle services take {:.1} % of a processor, which is taken off.", 100.0 * idle);
    let rows: Vec<Row> =
        ROWS.into_iter().filter(|row| only.as_ref().is_none_or(|only| row.name.contains(only))).collect();
    let mut figures = vec![(Vec::new(), Vec::new(), Vec::new()); rows.len()];
    for _ in 0..rounds {
        for (row, (without, with, rates)) in rows.iter().zip(&mut figures) {
            let (cpu, rate) = plain.measure(*row, idle).await;
            let road = if row.at == A { &primary } else { &other };
            let (mirrored_cpu, mirrored_rate) = road.measure(*row, idle).await;
            without.push(cpu);
            with.push(mirrored_cpu);
            rates.push(mirrored_rate / rate);
            if row.write {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
    println!(
        "{:38} {:>12} {:>12} {:>7} {:>5}      {:>6}",
        "CPU of all storage, us/op", "alone", "mirrored", "ratio", "aim", "rate"
    );
    for (row, (without, with, rates)) in rows.iter().zip(&figures) {
        let ratios: Vec<f64> = without.iter().zip(with).map(|(without, with)| with / without).collect();
        let (ratio, said) = (median(&ratios), |ok| if ok { "ok" } else { "MISS" });
        println!(
            "{:38} {:12.2} {:12.2} {ratio:7.2} {:5.1} {:4} {:5.0} %",
            row.name,
            median(without),
            median(with),
            row.aim,
            said(ratio <= row.aim),
            100.0 * median(rates)
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, dir] = &arguments[..]
        && first == "serve"
    {
        return serve(Path::new(dir));
    }
    if let [first, a, b, secret, road, ops, deep] = &arguments[..]
        && first == "drive"
    {
        let address = |text: &String| text.parse().expect("an address");
        let number = |text: &String| text.parse().expect("a number");
        let secret = Secret::load(Path::new(secret)).expect("its secret");
        return client(drive([address(a), address(b)], secret, road == "mirrored", number(ops), number(deep)));
    }
    let parent = arguments.first().map_or("/dev/shm", String::as_str);
    let rounds = arguments.get(1).map_or(Ok(5), |rounds| rounds.parse()).expect("a number of rounds");
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["serve", parent])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("addresses");
    let words: Vec<&str> = line.split_whitespace().collect();
    let address = |at: usize| words[at].parse().expect("an address");
    let secret = Secret::load(Path::new(words[2])).expect("its secret");
    client(run(address(0), address(1), secret, rounds.max(1), arguments.get(2).cloned()));
    child.stdin.take().expect("piped").write_all(b"\n").expect("told to stop");
    child.wait().expect("ended");
}
