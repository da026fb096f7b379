// SPDX-License-Identifier: Apache-2.0

//! Rows of stopped metadata servers, to be damaged.

use nyala_e2e::Cluster;
use nyala_kv::{Batch, Key};
use nyala_namespace::keys;
use nyala_namespace::records::InodeRecord;
use nyala_store::Store;
use nyala_wire::{InodeId, codec};

/// The tables of all metadata servers of a stopped cluster.
pub struct Tables(Vec<Store>);

impl Tables {
    /// Of both servers.
    pub fn open(cluster: &Cluster) -> Tables {
        Tables::of(cluster, &["meta1", "meta2"])
    }

    /// Of some services.
    pub fn of(cluster: &Cluster, services: &[&str]) -> Tables {
        let dirs = services.iter().map(|name| cluster.dir().join(name).join("tables"));
        Tables(dirs.map(|dir| Store::open(&dir, Default::default()).unwrap().0).collect())
    }

    /// The tables with a row.
    pub fn with(&self, key: &[u8]) -> &Store {
        let mut found = self.0.iter().filter(|store| store.get(key).unwrap().is_some());
        found.next().unwrap_or_else(|| panic!("no row {}", key.escape_ascii()))
    }

    pub fn remove(&self, key: &[u8]) -> Vec<u8> {
        let store = self.with(key);
        let value = store.get(key).unwrap().unwrap().to_vec();
        let mut batch = Batch::new();
        batch.delete(key);
        store.apply(batch).unwrap();
        value
    }

    /// A row beside another one.
    pub fn put(&self, beside: &[u8], key: &[u8], value: &[u8]) {
        let mut batch = Batch::new();
        batch.put(key, value);
        self.with(beside).apply(batch).unwrap();
    }

    /// A row in tables that do not have one of that key.
    pub fn put_elsewhere(&self, key: &[u8], value: &[u8]) {
        let others = self.0.iter().find(|store| store.get(key).unwrap().is_none());
        let mut batch = Batch::new();
        batch.put(key, value);
        others.unwrap_or_else(|| panic!("all have {}", key.escape_ascii())).apply(batch).unwrap();
    }

    /// Removes a row of an inode where the rest of that inode is not.
    pub fn remove_foreign(&self, key: &[u8], inode: InodeId) {
        let foreign = |store: &&Store| store.get(&keys::data(inode)).unwrap().is_none();
        let mut batch = Batch::new();
        batch.delete(key);
        self.0.iter().find(foreign).expect("one has not its content").apply(batch).unwrap();
    }

    pub fn change<T: minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>>(
        &self,
        key: &[u8],
        how: impl FnOnce(&mut T),
    ) {
        let mut record: T = codec::decode(&self.with(key).get(key).unwrap().unwrap()).unwrap();
        how(&mut record);
        self.put(key, key, &codec::encode(&record));
    }

    pub fn inode(&self, inode: InodeId, how: impl FnOnce(&mut InodeRecord)) {
        self.change(&keys::inode(inode), how);
    }

    pub fn close(self) {
        self.0.into_iter().for_each(|store| store.close().unwrap());
    }
}

/// The key of a name.
pub fn entry(dir: InodeId, name: &str) -> Key {
    keys::entry(dir, keys::cookie(dir, name.as_bytes()))
}
