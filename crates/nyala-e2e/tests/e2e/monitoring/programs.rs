// SPDX-License-Identifier: Apache-2.0

//! A real InfluxDB and a real Prometheus, in directories below a cluster's and on ports of their own, and the monitoring service.
//!
//! Failure model: a program may not start, or hang: each is waited for, for a while. Their command lines name the cluster's directory, so
//! that whatever takes that away ends them, too.

use nyala_e2e::{Cluster, binary, cleanup, ports, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(40);

/// A program that is ended with its test.
pub struct Program {
    child: Option<Child>,
    name: &'static str,
    log: PathBuf,
}

impl Program {
    fn start(name: &'static str, dir: &Path, command: &mut Command) -> Program {
        let log = dir.join(format!("{name}.log"));
        let file = fs::File::options().create(true).append(true).open(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/deps installs it"));
        Program { child: Some(child), name, log }
    }

    /// Waits until something holds.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            let log = || run::tail(&fs::read_to_string(&self.log).unwrap_or_default(), 30);
            assert!(ended.is_none(), "{} has ended: {ended:?}\n{}", self.name, log());
            assert!(began.elapsed() < LIMIT, "{}: not after {LIMIT:?}: {what}\n{}", self.name, log());
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends it, in order or at once.
    pub fn stop(&mut self, signal: i32) {
        if let Some(mut child) = self.child.take() {
            cleanup::signal(child.id() as i32, signal);
            if run::wait(&mut child, LIMIT).is_none() {
                cleanup::signal(child.id() as i32, libc::SIGKILL);
                run::wait(&mut child, LIMIT).expect("it is killed");
                panic!("{} did not end by itself", self.name);
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            cleanup::signal(child.id() as i32, libc::SIGKILL);
            run::wait(child, LIMIT);
        }
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.name, run::tail(&fs::read_to_string(&self.log).unwrap_or_default(), 20));
        }
    }
}

/// Asks over HTTP: status and body; none if nobody answers.
pub fn get(address: SocketAddr, path: &str, token: Option<&str>) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    // Version 1.0, so that the body comes in one piece.
    let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: test\r\n{token}\r\n").as_bytes()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// Asks for JSON, and gets it.
pub fn json(address: SocketAddr, path: &str, token: Option<&str>) -> Value {
    let (status, body) = get(address, path, token).unwrap_or_else(|| panic!("{path}: nobody answers"));
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

/// Posts a form over HTTP: status and body; none if nobody answers, or not in time.
fn post(address: SocketAddr, path: &str, form: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        form.len()
    );
    stream.write_all((head + form).as_bytes()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A database.
pub struct InfluxDb {
    pub program: Program,
    pub address: SocketAddr,
    dir: PathBuf,
}

impl InfluxDb {
    /// Starts an empty one.
    pub fn start(cluster: &Cluster) -> InfluxDb {
        let dir = cluster.root().join("influx");
        fs::create_dir(&dir).unwrap();
        let (address, inner) = (ports::address(), ports::address());
        let at = |name: &str| dir.join(name).display().to_string();
        let config = format!(
            "reporting-disabled = true\nbind-address = \"{inner}\"\n[meta]\ndir = \"{}\"\n[data]\ndir = \"{}\"\nwal-dir = \"{}\"\n\
             query-log-enabled = false\n[coordinator]\nquery-timeout = \"10s\"\n[monitor]\nstore-enabled = false\n[http]\nbind-address = \"{address}\"\nlog-enabled = false\n",
            at("meta"),
            at("data"),
            at("wal"),
        );
        fs::write(dir.join("influx.conf"), config).unwrap();
        let program = InfluxDb::run(&dir);
        let mut db = InfluxDb { program, address, dir };
        db.await_ready();
        db
    }

    fn run(dir: &Path) -> Program {
        let mut command = Command::new("influxd");
        command.args(["run", "-config"]).arg(dir.join("influx.conf")).env("HOME", dir);
        Program::start("influxd", dir, &mut command)
    }

    fn await_ready(&mut self) {
        let address = self.address;
        self.program.until("it answers", || get(address, "/ping", None).is_some_and(|(status, _)| status == 204));
    }

    /// Starts it again, with what it had.
    pub fn restart(&mut self) {
        self.program = InfluxDb::run(&self.dir);
        self.await_ready();
    }

    /// Writes points, in line protocol.
    pub fn write(&self, lines: &str) {
        let written = post(self.address, "/write?db=nyala", lines);
        assert!(written.as_ref().is_some_and(|(status, _)| *status == 204), "{written:?}: {lines}");
    }

    /// The series of an answer: tags, and rows.
    pub fn query(&self, query: &str) -> Vec<Value> {
        let answer = json(self.address, &format!("/query?db=nyala&epoch=ms&q={}", encoded(query)), None);
        assert!(answer["results"][0]["error"].is_null(), "{query}: {answer}");
        answer["results"][0]["series"].as_array().cloned().unwrap_or_default()
    }

    /// The series of each of several queries, or why there is no answer; asked together, within 10 s.
    pub fn queries(&self, queries: &[String]) -> Vec<Result<Vec<Value>, String>> {
        let form = format!("db=nyala&epoch=ms&q={}", encoded(&queries.join(";\n")));
        let (status, body) = post(self.address, "/query", &form).expect("InfluxDB answers in time");
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        // Behind one that fails nothing is answered.
        let series = |n: usize| match results.get(n) {
            Some(result) if result["error"].is_null() => Ok(result["series"].as_array().cloned().unwrap_or_default()),
            Some(result) => Err(result["error"].to_string()),
            None => Err("not reached".to_owned()),
        };
        (0..queries.len()).map(series).collect()
    }

    /// The sum of the last values of all series that match.
    pub fn total(&self, metric: &str, field: &str, op: &str) -> f64 {
        let filter = if op.is_empty() { String::new() } else { format!(" WHERE op = '{op}'") };
        let series = self.query(&format!("SELECT last(\"{field}\") FROM \"{metric}\"{filter} GROUP BY *"));
        series.iter().map(|series| series["values"][0][1].as_f64().unwrap()).sum()
    }
}

/// Starts a Prometheus that scrapes these every second.
pub fn prometheus(cluster: &Cluster, scraped: &BTreeMap<String, SocketAddr>) -> (Program, SocketAddr) {
    prometheus_with(cluster, scraped, None)
}

/// The same, with alert rules.
pub fn prometheus_with(
    cluster: &Cluster,
    scraped: &BTreeMap<String, SocketAddr>,
    rules: Option<&Path>,
) -> (Program, SocketAddr) {
    let (dir, address) = (cluster.root().join("prometheus"), ports::address());
    fs::create_dir(&dir).unwrap();
    let targets: Vec<String> = scraped.values().map(|address| format!("'{address}'")).collect();
    let rules = rules.map_or(String::new(), |rules| format!("rule_files: ['{}']\n", rules.display()));
    let config = format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\n{rules}scrape_configs:\n  - job_name: nyala\n    static_configs:\n      - targets: [{}]\n",
        targets.join(", ")
    );
    fs::write(dir.join("prometheus.yml"), config).unwrap();
    let flag = |name: &str, value: String| format!("--{name}={value}");
    let mut command = Command::new("prometheus");
    command.args([
        flag("config.file", dir.join("prometheus.yml").display().to_string()),
        flag("storage.tsdb.path", dir.join("data").display().to_string()),
        flag("web.listen-address", address.to_string()),
        flag("log.level", "warn".to_owned()),
    ]);
    let mut program = Program::start("prometheus", &dir, &mut command);
    let all = scraped.len() as f64;
    program.until("it scrapes everything", || {
        get(address, "/-/ready", None).is_some_and(|(status, _)| status == 200) && value(address, "sum(up)") == all
    });
    (program, address)
}

/// How many series a Prometheus query gives.
pub fn series(address: SocketAddr, query: &str) -> usize {
    let answer = json(address, &format!("/api/v1/query?query={}", encoded(query)), None);
    answer["data"]["result"].as_array().map_or(0, Vec::len)
}

/// The one value of a Prometheus query, 0 for none.
pub fn value(address: SocketAddr, query: &str) -> f64 {
    let answer = json(address, &format!("/api/v1/query?query={}", encoded(query)), None);
    let value = answer["data"]["result"][0]["value"][1].as_str();
    value.map_or(0.0, |value| value.parse().unwrap())
}

/// The monitoring service.
pub struct Mon {
    pub program: Program,
    pub address: SocketAddr,
    pub metrics: SocketAddr,
    dir: PathBuf,
}

impl Mon {
    /// Starts it; it samples twice a second.
    pub fn start(cluster: &Cluster, influx: SocketAddr) -> Mon {
        let (dir, address, metrics) = (cluster.root().join("mon"), ports::address(), ports::address());
        fs::create_dir_all(&dir).unwrap();
        let config = format!(
            "dir = \"{}\"\nmgmt = \"127.0.0.1:{}\"\nsecret = \"{}\"\ninterval = \"500ms\"\nlisten = \"{address}\"\n\
             metrics = \"{metrics}\"\ninflux-url = \"http://{influx}\"\n",
            dir.join("history").display(),
            cluster.port(),
            cluster.dir().join("secret").display(),
        );
        fs::write(dir.join("mon.toml"), config).unwrap();
        let mut mon = Mon { program: Mon::run(&dir), address, metrics, dir };
        mon.await_ready();
        mon
    }

    fn run(dir: &Path) -> Program {
        let mut command = Command::new(binary::nyala());
        command.args(["mon", "--config"]).arg(dir.join("mon.toml"));
        Program::start("nyala-mon", dir, &mut command)
    }

    fn await_ready(&mut self) {
        let (address, dir) = (self.address, self.dir.clone());
        self.program.until("it answers", || {
            let token = fs::read_to_string(dir.join("history/mon.token")).unwrap_or_default();
            get(address, "/api/v1/sources", Some(token.trim())).is_some_and(|(status, _)| status == 200)
        });
    }

    /// Kills it and starts it again.
    pub fn restart(&mut self) {
        self.program.stop(libc::SIGKILL);
        self.program = Mon::run(&self.dir);
        self.await_ready();
    }

    /// What its queries want to see.
    pub fn token(&self) -> String {
        fs::read_to_string(self.dir.join("history/mon.token")).unwrap().trim().to_owned()
    }

    /// Asks for JSON.
    pub fn ask(&self, path: &str) -> Value {
        json(self.address, path, Some(&self.token()))
    }

    /// Status of a reply to whoever shows this token.
    pub fn status(&self, path: &str, token: Option<&str>) -> u16 {
        get(self.address, path, token).unwrap().0
    }

    /// The sum of the last values up to this time, milliseconds since 1970; 0 if there are none.
    pub fn total(&self, query: &str, at_ms: u64) -> f64 {
        let path = format!("/api/v1/history?{query}&from={}&to={at_ms}&step=5s", at_ms - 5000);
        let (status, body) = get(self.address, &path, Some(&self.token())).unwrap();
        if status == 400 && body.contains("no metric") {
            return 0.0;
        }
        assert_eq!(status, 200, "{path}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let series = answer["series"].as_array().unwrap();
        series.iter().map(|series| series["points"].as_array().unwrap().last().unwrap()[1].as_f64().unwrap()).sum()
    }

    /// What counters grew by between these times, from their rate.
    pub fn grew(&self, query: &str, from_ms: u64, to_ms: u64) -> f64 {
        let step = to_ms - from_ms;
        let answer = self.ask(&format!("/api/v1/history?{query}&rate=true&from={from_ms}&to={to_ms}&step={step}ms"));
        let points =
            answer["series"].as_array().unwrap().iter().flat_map(|series| series["points"].as_array().unwrap());
        points.map(|point| point[1].as_f64().unwrap() * step as f64 / 1000.0).sum()
    }
}
