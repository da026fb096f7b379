// SPDX-License-Identifier: Apache-2.0

//! What is done: one system call, or a few that belong together. As text of one line, for the pipe and for the trace.

use nyala_wire::SplitMix64;

/// One operation: a name, paths (relative to the directory, `.` is the directory), and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Which; [`super::worker`] does it, [`super::state`] says what must come of it.
    pub name: &'static str,
    /// The paths, or a handle's number and nothing else.
    pub paths: Vec<String>,
    /// Offsets, lengths, seeds of content, flags.
    pub numbers: Vec<u64>,
}

/// Every operation, how often it comes, how many paths and which numbers it has.
pub const OPS: [(&str, usize, usize, &[Number]); 34] = [
    ("create", 6, 1, &[]),
    ("exclusive", 4, 1, &[]),
    ("fresh", 4, 1, &[Number::Seed, Number::Length]),
    ("write", 10, 1, &[Number::Seed, Number::Offset, Number::Length]),
    ("append", 8, 1, &[Number::Seed, Number::Length]),
    ("read", 12, 1, &[Number::Offset, Number::Length]),
    ("whole", 10, 1, &[]),
    ("truncate", 4, 1, &[Number::Offset]),
    ("stat", 14, 1, &[]),
    ("list", 7, 1, &[]),
    ("rename", 7, 2, &[]),
    ("noreplace", 2, 2, &[]),
    ("exchange", 2, 2, &[]),
    ("link", 4, 2, &[]),
    ("unlink", 6, 1, &[]),
    ("mkdir", 5, 1, &[]),
    ("rmdir", 3, 1, &[]),
    ("chmod", 3, 1, &[Number::Seed]),
    ("setxattr", 3, 1, &[Number::Seed]),
    ("getxattr", 4, 1, &[]),
    ("removexattr", 2, 1, &[]),
    ("symlink", 3, 1, &[Number::Seed]),
    ("readlink", 3, 1, &[]),
    ("mapread", 4, 1, &[]),
    ("mapwrite", 4, 1, &[Number::Seed, Number::Offset, Number::Length]),
    ("punch", 2, 1, &[Number::Offset, Number::Length]),
    ("extend", 2, 1, &[Number::Offset, Number::Length]),
    ("hopen", 5, 1, &[Number::Handle]),
    ("hread", 8, 0, &[Number::Handle, Number::Offset, Number::Length]),
    ("hwrite", 8, 0, &[Number::Handle, Number::Seed, Number::Offset, Number::Length]),
    ("hstat", 5, 0, &[Number::Handle]),
    ("htruncate", 2, 0, &[Number::Handle, Number::Offset]),
    ("hsync", 1, 0, &[Number::Handle]),
    ("hclose", 3, 0, &[Number::Handle]),
];

/// Open files that a worker keeps at most.
pub const HANDLES: usize = 3;

/// What a number means, and so which there are.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Of content, a mode or a target.
    Seed,
    /// Into a file; small files and ones beyond what lies with the inode.
    Offset,
    /// Of what is read or written.
    Length,
    /// Which open file.
    Handle,
}

impl Number {
    fn draw(self, random: &mut SplitMix64) -> u64 {
        (match self {
            Number::Seed => random.index(1 << 30),
            Number::Offset => [0, random.index(100), random.index(5_000), random.index(20_000)][random.index(4)],
            Number::Length => {
                [random.index(10), random.index(300), random.index(5_000), random.index(9_000)][random.index(4)]
            }
            Number::Handle => random.index(HANDLES),
        }) as u64
    }
}

impl Op {
    /// A random one.
    pub fn random(random: &mut SplitMix64) -> Op {
        let all: usize = OPS.iter().map(|op| op.1).sum();
        let mut at = random.index(all);
        for (name, often, paths, numbers) in OPS {
            if at < often {
                let paths = (0..paths).map(|_| path(random)).collect();
                return Op { name, paths, numbers: numbers.iter().map(|number| number.draw(random)).collect() };
            }
            at -= often;
        }
        // why: `at` is below the sum of what was subtracted.
        unreachable!("the weights add up")
    }

    /// For the pipe.
    pub fn line(&self) -> String {
        let numbers = self.numbers.iter().map(u64::to_string);
        std::iter::once(self.name.to_owned())
            .chain(self.paths.iter().cloned())
            .chain(numbers)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// From the pipe.
    pub fn parse(line: &str) -> Option<Op> {
        let mut words = line.split(' ');
        let first = words.next()?;
        let (name, _, paths, numbers) = OPS.into_iter().find(|op| op.0 == first)?;
        let paths: Vec<String> = words.by_ref().take(paths).map(str::to_owned).collect();
        let numbers: Vec<u64> = words.take(numbers.len()).filter_map(|word| word.parse().ok()).collect();
        Some(Op { name, paths, numbers })
    }
}

/// Few names, so that they meet; up to three deep.
fn path(random: &mut SplitMix64) -> String {
    let name = |random: &mut SplitMix64| ["a", "b", "c", "d", "e"][random.index(5)];
    let depth = [1, 1, 1, 1, 2, 2, 2, 3][random.index(8)];
    let names: Vec<&str> = (0..depth).map(|_| name(random)).collect();
    names.join("/")
}

/// Content of a seed.
pub fn content(seed: u64, len: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let words = (0..len.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes());
    words.take(len as usize).map(|byte| byte | 1).collect()
}

/// A short name of content, for comparing.
pub fn digest(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3));
    format!("{} bytes {hash:016x}", bytes.len())
}
