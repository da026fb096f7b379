// SPDX-License-Identifier: Apache-2.0

//! CPU cost of parity beside that of ISA-L, in one run and in turn, with the same strips; the results are compared as well.
//! `cargo run --release -p nyala-parity --example parity_bench [STRIP-BYTES]`; needs libisal2 (`apt-get install libisal2`).

use nyala_parity::{Code, Isa};
use std::ffi::{c_int, c_uchar, c_void};

type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type EncodeData = unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const c_uchar, *const *mut c_uchar);
type Generate = unsafe extern "C" fn(c_int, c_int, *const *mut c_void) -> c_int;

/// Functions of ISA-L, which is looked for when this runs.
struct IsaL {
    init_tables: InitTables,
    encode_data: EncodeData,
    xor_gen: Generate,
    pq_gen: Generate,
}

impl IsaL {
    fn open() -> IsaL {
        // SAFETY: names of a library and of functions of it, with the types that its headers declare (isa-l 2.30,
        // erasure_code.h and raid.h); the library is never closed.
        unsafe {
            let library = libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW);
            assert!(!library.is_null(), "libisal.so.2 is missing: apt-get install libisal2");
            let function = |name: &std::ffi::CStr| {
                let found = libc::dlsym(library, name.as_ptr());
                assert!(!found.is_null(), "ISA-L has no {name:?}");
                found
            };
            IsaL {
                init_tables: std::mem::transmute::<*mut c_void, InitTables>(function(c"ec_init_tables")),
                encode_data: std::mem::transmute::<*mut c_void, EncodeData>(function(c"ec_encode_data")),
                xor_gen: std::mem::transmute::<*mut c_void, Generate>(function(c"xor_gen")),
                pq_gen: std::mem::transmute::<*mut c_void, Generate>(function(c"pq_gen")),
            }
        }
    }
}

/// Strips of one length, each on a boundary of 64 bytes.
struct Strips {
    memory: Vec<u8>,
    len: usize,
}

impl Strips {
    fn new(count: usize, len: usize, content: impl Fn(usize) -> u8) -> Strips {
        let memory: Vec<u8> = (0..count * len + 64).map(content).collect();
        Strips { memory, len }
    }

    fn shift(&self) -> usize {
        self.memory.as_ptr().align_offset(64)
    }

    fn all(&self) -> Vec<&[u8]> {
        let shift = self.shift();
        self.memory[shift..].chunks_exact(self.len).collect()
    }

    fn all_mut(&mut self) -> Vec<&mut [u8]> {
        let (shift, len) = (self.shift(), self.len);
        self.memory[shift..].chunks_exact_mut(len).collect()
    }
}

/// Nanoseconds of this thread's processor time.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a structure of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The best of many rounds of each, in turn: nanoseconds for one call, which is about so many bytes.
fn race(bytes: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> [f64; 2] {
    let calls = (4 << 20) / bytes.clamp(64 << 10, 4 << 20);
    let mut best = [f64::MAX; 2];
    for _ in 0..100 {
        for (best, call) in best.iter_mut().zip([&mut ours as &mut dyn FnMut(), &mut theirs]) {
            let began = cpu_ns();
            (0..calls).for_each(|_| call());
            *best = best.min((cpu_ns() - began) as f64 / calls as f64);
        }
    }
    best
}

/// The same code by ISA-L: its special functions for one and two parity strips, tables otherwise.
fn theirs<'a>(
    isa_l: &'a IsaL,
    name: &str,
    code: &Code,
    data: &[&[u8]],
    parity: &mut [&mut [u8]],
) -> Box<dyn FnMut() + 'a> {
    let (k, rows, len) = (code.data() as c_int, code.parity() as c_int, data[0].len() as c_int);
    let sources: Vec<*const c_uchar> = data.iter().map(|strip| strip.as_ptr()).collect();
    let outputs: Vec<*mut c_uchar> = parity.iter_mut().map(|strip| strip.as_mut_ptr()).collect();
    let generate = match name {
        "xor" => Some(isa_l.xor_gen),
        "p+q" => Some(isa_l.pq_gen),
        _ => None,
    };
    if let Some(generate) = generate {
        let all: Vec<*mut c_void> = sources
            .iter()
            .map(|strip| strip.cast_mut().cast())
            .chain(outputs.iter().map(|strip| strip.cast()))
            .collect();
        // SAFETY: as many aligned strips of this length as is said; the last ones may be written to.
        return Box::new(move || assert_eq!(unsafe { generate(k + rows, len, all.as_ptr()) }, 0));
    }
    let cells: Vec<u8> =
        (0..code.parity()).flat_map(|row| (0..code.data()).map(move |strip| code.coefficient(row, strip))).collect();
    let mut tables = vec![0_u8; 32 * cells.len()];
    // SAFETY: a matrix of `rows` times `k`, and room for 32 bytes for each cell of it.
    unsafe { (isa_l.init_tables)(k, rows, cells.as_ptr(), tables.as_mut_ptr()) };
    let encode = isa_l.encode_data;
    // SAFETY: as many strips of this length as is said; the tables are those of the matrix.
    Box::new(move || unsafe { encode(len, k, rows, tables.as_ptr(), sources.as_ptr(), outputs.as_ptr()) })
}

fn main() {
    let len: usize = std::env::args().nth(1).map_or(16 << 10, |bytes| bytes.parse().expect("STRIP-BYTES is a number"));
    let isa_l = IsaL::open();
    println!("strips of {len} bytes; GB of data per second of one core; {:?} is the best here", Isa::best());
    println!("code        way       nyala  ISA-L  ratio");
    let codes = [
        ("xor", Code::xor(8)),
        ("p+q", Code::p_q(8)),
        ("three", Code::three(8)),
        ("rs", Code::reed_solomon(4, 2)),
        ("rs", Code::reed_solomon(8, 3)),
        ("rs", Code::reed_solomon(10, 4)),
        ("rs", Code::reed_solomon(16, 6)),
    ];
    for (name, code) in codes {
        let code = code.expect("a code that can be");
        let data = Strips::new(code.data(), len, |at| ((at * 2_654_435_761) >> 7) as u8);
        let (mut ours, mut parity) = (Strips::new(code.parity(), len, |_| 1), Strips::new(code.parity(), len, |_| 2));
        for isa in Isa::ALL.into_iter().rev().filter(|isa| isa.is_available()) {
            let code = code.clone().with_isa(isa).expect("it is available");
            let sources = data.all();
            let [mine, other] = {
                let mut outputs = ours.all_mut();
                let theirs = theirs(&isa_l, name, &code, &sources, &mut parity.all_mut());
                race(code.data() * len, || code.encode(&sources, &mut outputs), theirs)
            };
            assert_eq!(ours.all(), parity.all(), "ISA-L computes something else");
            let rate = |ns: f64| (code.data() * len) as f64 / ns;
            let what = format!("{name} {}+{}", code.data(), code.parity());
            println!(
                "{what:11} {:9} {:5.1}  {:5.1}  {:5.2}",
                format!("{isa:?}"),
                rate(mine),
                rate(other),
                other / mine
            );
        }
    }
}
