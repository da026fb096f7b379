// SPDX-License-Identifier: Apache-2.0

//! Drives in memory that lose what was not synced, each for itself.

use nyala_kv::Batch;
use nyala_raid::effect::{Effect, Reply};
use nyala_wire::SplitMix64;
use std::collections::BTreeMap;
use std::ops::Bound;

const SECTOR: usize = 512;

#[derive(Clone, Default)]
struct File {
    synced: Vec<u8>,
    now: Vec<u8>,
    /// Offset and content of what was written since.
    pending: Vec<(usize, Vec<u8>)>,
}

impl File {
    fn put(into: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
        if into.len() < offset + bytes.len() {
            into.resize(offset + bytes.len(), 0);
        }
        into[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        File::put(&mut self.now, offset, bytes);
        self.pending.push((offset, bytes.to_vec()));
    }

    fn cut_power(&mut self, random: &mut SplitMix64) {
        for (offset, bytes) in std::mem::take(&mut self.pending) {
            let mode = random.below(3);
            for (at, sector) in bytes.chunks(SECTOR).enumerate() {
                if mode == 0 || mode == 1 && random.coin() {
                    File::put(&mut self.synced, offset + at * SECTOR, sector);
                }
            }
        }
        self.now = self.synced.clone();
    }
}

type Table = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Default)]
pub struct Drive {
    files: BTreeMap<u128, File>,
    table: Table,
    durable: Table,
    pending: Vec<Batch>,
    /// It answers nothing but errors.
    pub dead: bool,
    /// Reads are late.
    pub late: bool,
}

fn apply(table: &mut Table, batch: &Batch) {
    for (key, value) in batch.iter() {
        match value {
            Some(value) => _ = table.insert(key.to_vec(), value.to_vec()),
            None => _ = table.remove(key),
        }
    }
}

impl Drive {
    fn cut_power(&mut self, random: &mut SplitMix64) {
        self.files.values_mut().for_each(|file| file.cut_power(random));
        let kept = random.below(self.pending.len() as u64 + 1) as usize;
        self.pending.drain(..).take(kept).for_each(|batch| apply(&mut self.durable, &batch));
        self.table = self.durable.clone();
    }

    fn run(&mut self, effect: Effect) -> Reply {
        if self.dead {
            return Reply::Failed;
        }
        match effect {
            Effect::Read { patient: false, .. } if self.late => return Reply::Late,
            Effect::Read { object, offset, len, .. } => {
                let now = self.files.get(&object.0).map_or(&[][..], |file| &file.now);
                let there = now.get(offset as usize..).unwrap_or(&[]);
                let mut out = there[..there.len().min(len)].to_vec();
                out.resize(len, 0);
                return Reply::Bytes(out);
            }
            Effect::Write { object, offset, bytes, then, .. } => {
                self.files.entry(object.0).or_default().write(offset as usize, &bytes);
                if !then.is_empty() {
                    apply(&mut self.table, &then);
                    self.pending.push(then);
                }
            }
            Effect::Discard { object, offset, len, .. } => {
                if let Some(file) = self.files.get_mut(&object.0) {
                    let end = len.map_or(file.now.len(), |len| file.now.len().min((offset + len) as usize));
                    if let Some(len) = end.checked_sub(offset as usize) {
                        file.write(offset as usize, &vec![0; len]);
                    }
                }
            }
            Effect::Apply { batch, sync, .. } => {
                apply(&mut self.table, &batch);
                self.pending.push(batch);
                if sync {
                    self.pending.drain(..).for_each(|batch| apply(&mut self.durable, &batch));
                }
            }
            Effect::Get { key, .. } => return Reply::Value(self.table.get(&key).cloned()),
            Effect::Scan { from, to, limit, .. } => {
                let range = (Bound::Included(from), Bound::Excluded(to));
                let pairs = self.table.range(range).take(limit).map(|(key, value)| (key.clone(), value.clone()));
                return Reply::Pairs(pairs.collect());
            }
            Effect::SyncFiles { .. } => {
                for file in self.files.values_mut() {
                    file.pending.clear();
                    file.synced = file.now.clone();
                }
            }
        }
        Reply::Done
    }

    /// Flips a bit of a file's content, or forgets it all, behind everybody's back; whether there was anything.
    pub fn flip(&mut self, random: &mut SplitMix64) -> bool {
        let Some(file) = self.files.values_mut().find(|file| !file.now.is_empty()) else { return false };
        let at = random.below(file.now.len() as u64) as usize;
        file.now[at] ^= 1 << random.below(8);
        file.synced = file.now.clone();
        true
    }

    pub fn keys(&self, prefix: &[u8]) -> Vec<Vec<u8>> {
        self.table.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }
}

/// The machine went down.
#[derive(Debug)]
pub struct Down;

#[derive(Clone)]
pub struct Drives {
    pub drives: Vec<Drive>,
    pub random: SplitMix64,
    /// Effects until the machine goes down.
    pub left: Option<u64>,
    pub steps: u64,
    /// Reads, and bytes written to files and logs.
    pub reads: u64,
}

impl Drives {
    pub fn new(count: usize, seed: u64) -> Drives {
        let drives = vec![Drive::default(); count];
        Drives { drives, random: SplitMix64::new(seed), left: None, steps: 0, reads: 0 }
    }

    /// Does all effects, in some order.
    pub fn run(&mut self, effects: Vec<Effect>) -> Result<Vec<Reply>, Down> {
        let mut order: Vec<usize> = (0..effects.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        let mut replies = vec![None; effects.len()];
        let mut effects: Vec<_> = effects.into_iter().map(Some).collect();
        for at in order {
            let effect = effects[at].take().unwrap();
            self.reads += u64::from(matches!(effect, Effect::Read { .. }));
            if !effect.is_read() {
                self.steps += 1;
                if let Some(left) = &mut self.left {
                    if *left == 0 {
                        self.last(effect);
                        return Err(Down);
                    }
                    *left -= 1;
                }
            }
            replies[at] = Some(self.drives[effect.member()].run(effect));
        }
        Ok(replies.into_iter().map(Option::unwrap).collect())
    }

    /// What happens of an effect in the middle of which the machine goes down.
    fn last(&mut self, effect: Effect) {
        let member = effect.member();
        let cut = match effect {
            Effect::Write { member, object, offset, mut bytes, .. } => {
                bytes.truncate(self.random.below(bytes.len() as u64 + 1) as usize);
                Effect::Write { member, object, offset, bytes, then: Batch::new() }
            }
            Effect::Apply { member, batch, .. } if self.random.coin() => Effect::Apply { member, batch, sync: false },
            _ => return,
        };
        self.drives[member].run(cut);
    }

    pub fn cut_power(&mut self) {
        self.drives.iter_mut().for_each(|drive| drive.cut_power(&mut self.random));
        self.left = None;
    }
}
