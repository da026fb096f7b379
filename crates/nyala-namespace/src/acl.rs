// SPDX-License-Identifier: Apache-2.0

//! POSIX access control lists, in the form in which Linux passes them as extended attributes. Pure: bytes and permission
//! bits in, the same out. Who may do what with them the kernel decides, and for some clients `crate::access`; here they are checked, kept in step with the
//! permission bits, and inherited.
//!
//! A list is a version (2) and then entries of a tag, a permission and an id, all little-endian, in this order: the owner, named
//! users, the owning group, named groups, the mask, others. The mask bounds named users and all groups, and must be there
//! if anybody is named; the group bits of the permissions are then the mask's. A list that says no more than the
//! permission bits is not kept.

use nyala_wire::ErrorCode;

/// Name of the access list.
pub const ACCESS: &[u8] = b"system.posix_acl_access";
/// Name of the list that a directory gives to what is made in it.
pub const DEFAULT: &[u8] = b"system.posix_acl_default";
/// Most entries: what the kernel passes through FUSE is at most a page.
pub const MAX_ENTRIES: usize = (4096 - HEAD_BYTES) / ENTRY_BYTES;

const VERSION: [u8; HEAD_BYTES] = [2, 0, 0, 0];
const HEAD_BYTES: usize = 4;
const ENTRY_BYTES: usize = 8;
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;
/// Id of entries that name nobody.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: u16,
    perm: u16,
    id: u32,
}

/// Whom an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The owner.
    Owner,
    /// A user.
    User(u32),
    /// The owning group.
    OwningGroup,
    /// A group.
    Group(u32),
    /// All others.
    Others,
}

/// A list that is in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl(Vec<Entry>);

impl Acl {
    /// Reads a list. `None` for one without entries, which stands for none at all. EINVAL if it is not as it should be,
    /// EOPNOTSUPP of another version, E2BIG of too many entries.
    pub fn parse(bytes: &[u8]) -> Result<Option<Acl>, ErrorCode> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let (version, rest) = bytes.split_first_chunk().ok_or(ErrorCode::INVALID)?;
        if *version != VERSION {
            return Err(ErrorCode::NOT_SUPPORTED);
        }
        let (entries, []) = rest.as_chunks::<ENTRY_BYTES>() else { return Err(ErrorCode::INVALID) };
        if entries.len() > MAX_ENTRIES {
            return Err(ErrorCode::TOO_BIG);
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let acl = Acl(entries.iter().map(entry).collect());
        acl.check()?;
        Ok(Some(acl))
    }

    /// Owner, group and others once each; ids only where somebody is named, and each once; a mask if anybody is.
    fn check(&self) -> Result<(), ErrorCode> {
        let count = |tag| self.0.iter().filter(|entry| entry.tag == tag).count();
        let known = |entry: &Entry| {
            matches!(entry.tag, OWNER | USER | OWNING_GROUP | GROUP | MASK | OTHERS)
                && entry.perm <= 7
                && (entry.id != NOBODY) == names(entry.tag)
        };
        let in_order = self.0.windows(2).all(|two| two[0].tag <= two[1].tag);
        let once = count(OWNER) == 1 && count(OWNING_GROUP) == 1 && count(OTHERS) == 1 && count(MASK) <= 1;
        let masked = count(MASK) == 1 || count(USER) + count(GROUP) == 0;
        let mut named: Vec<(u16, u32)> =
            self.0.iter().filter(|entry| names(entry.tag)).map(|entry| (entry.tag, entry.id)).collect();
        named.sort_unstable();
        let distinct = named.windows(2).all(|two| two[0] != two[1]);
        if self.0.iter().all(known) && in_order && once && masked && distinct {
            Ok(())
        } else {
            Err(ErrorCode::INVALID)
        }
    }

    /// The list as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = VERSION.to_vec();
        for entry in &self.0 {
            bytes.extend_from_slice(&entry.tag.to_le_bytes());
            bytes.extend_from_slice(&entry.perm.to_le_bytes());
            bytes.extend_from_slice(&entry.id.to_le_bytes());
        }
        bytes
    }

    /// The list that permission bits stand for.
    pub fn of_perm(perm: u16) -> Acl {
        let entry = |tag, perm| Entry { tag, perm: perm & 7, id: NOBODY };
        Acl(vec![entry(OWNER, perm >> 6), entry(OWNING_GROUP, perm >> 3), entry(OTHERS, perm)])
    }

    /// What the classes of users may do once the mask is taken into account, in the order in which they are looked at.
    pub fn effective(&self) -> impl Iterator<Item = (Class, u16)> + '_ {
        let mask = self.0.iter().find(|entry| entry.tag == MASK).map_or(7, |entry| entry.perm);
        self.0.iter().filter_map(move |entry| {
            let (class, bound) = match entry.tag {
                OWNER => (Class::Owner, 7),
                USER => (Class::User(entry.id), mask),
                OWNING_GROUP => (Class::OwningGroup, mask),
                GROUP => (Class::Group(entry.id), mask),
                OTHERS => (Class::Others, 7),
                _ => return None,
            };
            Some((class, entry.perm & bound))
        })
    }

    /// The same list with other ids of users (`false`) and groups (`true`).
    pub fn with_ids(&self, id: impl Fn(bool, u32) -> u32) -> Acl {
        let entries = self.0.iter().map(|entry| Entry {
            id: if names(entry.tag) { id(entry.tag == GROUP, entry.id) } else { entry.id },
            ..*entry
        });
        Acl(entries.collect())
    }

    /// Whether the permission bits say all of it.
    pub fn is_minimal(&self) -> bool {
        self.0.len() == 3
    }

    /// The permission bits (0o777) that belong to the list.
    pub fn perm(&self) -> u16 {
        self.of(OWNER) << 6 | self.of(self.group_class()) << 3 | self.of(OTHERS)
    }

    /// The list after the permission bits were set to these.
    pub fn with_perm(&self, perm: u16) -> Acl {
        self.map(|tag, _| match () {
            () if tag == OWNER => Some(perm >> 6 & 7),
            () if tag == self.group_class() => Some(perm >> 3 & 7),
            () if tag == OTHERS => Some(perm & 7),
            () => None,
        })
    }

    /// A default list, as the access list of something new that is to have at most these permission bits.
    pub fn inherited(&self, perm: u16) -> Acl {
        self.with_perm(self.perm() & perm)
    }

    fn map(&self, new: impl Fn(u16, u16) -> Option<u16>) -> Acl {
        let entries =
            self.0.iter().map(|entry| Entry { perm: new(entry.tag, entry.perm).unwrap_or(entry.perm), ..*entry });
        Acl(entries.collect())
    }

    /// The entry that the group bits of the permissions stand for.
    fn group_class(&self) -> u16 {
        if self.0.iter().any(|entry| entry.tag == MASK) { MASK } else { OWNING_GROUP }
    }

    fn of(&self, tag: u16) -> u16 {
        self.0.iter().find(|entry| entry.tag == tag).map_or(0, |entry| entry.perm)
    }
}

fn names(tag: u16) -> bool {
    tag == USER || tag == GROUP
}

/// Ids of entries that name nobody do not count, whatever they are.
fn entry(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let [t0, t1, p0, p1, id @ ..] = *bytes;
    let tag = u16::from_le_bytes([t0, t1]);
    let id = if names(tag) { u32::from_le_bytes(id) } else { NOBODY };
    Entry { tag, perm: u16::from_le_bytes([p0, p1]), id }
}

/// What something new gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Permission bits (0o7777).
    pub perm: u16,
    /// Access list, if it says more than the bits.
    pub access: Option<Vec<u8>>,
    /// Default list, for directories.
    pub default: Option<Vec<u8>>,
}

/// What something new gets in a directory with this default list, which the umask does not take anything from.
pub fn inherit(default: &Acl, perm: u16, is_dir: bool) -> Inherited {
    let acl = default.inherited(perm);
    Inherited {
        perm: perm & 0o7000 | acl.perm(),
        access: (!acl.is_minimal()).then(|| acl.to_bytes()),
        default: is_dir.then(|| default.to_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tag, permission, id.
    type Row = (u16, u16, u32);
    type Change = dyn Fn(&mut Vec<Row>);

    fn bytes(entries: &[Row]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0];
        for (tag, perm, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(perm.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    const MINIMAL: [Row; 3] = [(OWNER, 6, NOBODY), (OWNING_GROUP, 4, NOBODY), (OTHERS, 0, NOBODY)];
    const LARGE: [Row; 6] = [
        (OWNER, 7, NOBODY),
        (USER, 6, 1000),
        (OWNING_GROUP, 5, NOBODY),
        (GROUP, 7, 1000),
        (MASK, 6, NOBODY),
        (OTHERS, 1, NOBODY),
    ];

    fn parse(entries: &[Row]) -> Result<Acl, ErrorCode> {
        Acl::parse(&bytes(entries)).map(Option::unwrap)
    }

    #[test]
    fn what_setfacl_writes() {
        // setfacl -m u:1000:rw on a file of mode 0644, as read with getfattr -e hex.
        let hex = "0200000001000600ffffffff 02000600e8030000 04000400ffffffff 10000600ffffffff 20000400ffffffff";
        let digits: String = hex.split(' ').collect();
        let raw: Vec<u8> =
            (0..digits.len() / 2).map(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16).unwrap()).collect();
        let acl = Acl::parse(&raw).unwrap().unwrap();
        assert_eq!((acl.perm(), acl.is_minimal()), (0o664, false));
        assert_eq!(acl.to_bytes(), raw);
    }

    #[test]
    fn what_is_refused() {
        let with = |change: &Change| {
            let mut entries = LARGE.to_vec();
            change(&mut entries);
            parse(&entries)
        };
        assert!(with(&|_| ()).is_ok());
        let bad: [&Change; 12] = [
            &|list| list.retain(|entry| *entry != LARGE[0]),
            &|list| list.retain(|entry| *entry != LARGE[2]),
            &|list| list.retain(|entry| *entry != LARGE[5]),
            &|list| list.retain(|entry| *entry != LARGE[4]),
            &|list| list.swap(1, 2),
            &|list| list.swap(4, 5),
            &|list| list.insert(1, list[1]),
            &|list| list.insert(4, list[4]),
            &|list| list.insert(0, list[0]),
            &|list| list[1].1 = 8,
            &|list| list[1].2 = NOBODY,
            &|list| list[1].0 = 3,
        ];
        for (n, change) in bad.iter().enumerate() {
            assert_eq!(with(change), Err(ErrorCode::INVALID), "{n}");
        }
        assert_eq!(Acl::parse(&bytes(&LARGE)[..51]), Err(ErrorCode::INVALID));
        assert_eq!(Acl::parse(&[2, 0, 0]), Err(ErrorCode::INVALID));
        assert_eq!(Acl::parse(&[1, 0, 0, 0]), Err(ErrorCode::NOT_SUPPORTED));
        assert_eq!((Acl::parse(&[]), Acl::parse(&[2, 0, 0, 0])), (Ok(None), Ok(None)));
        let user = |n: usize| (USER, 7, n as u32);
        let many = |count| -> Vec<_> {
            [LARGE[0]].into_iter().chain((0..count - 4).map(user)).chain([LARGE[2], LARGE[4], LARGE[5]]).collect()
        };
        assert!(parse(&many(MAX_ENTRIES)).is_ok());
        assert_eq!(parse(&many(MAX_ENTRIES + 1)), Err(ErrorCode::TOO_BIG));
    }

    #[test]
    fn ids_of_entries_without_names_do_not_count() {
        let acl = parse(&MINIMAL.map(|(tag, perm, _)| (tag, perm, 0))).unwrap();
        assert_eq!(acl.to_bytes(), bytes(&MINIMAL));
        assert!(acl.is_minimal());
    }

    #[test]
    fn group_bits_are_the_mask_if_there_is_one() {
        let (minimal, large) = (parse(&MINIMAL).unwrap(), parse(&LARGE).unwrap());
        assert_eq!((minimal.perm(), large.perm()), (0o640, 0o761));
        let changed = large.with_perm(0o4517);
        assert_eq!(changed.perm(), 0o517);
        let same = |tag| changed.of(tag) == large.of(tag);
        assert!(same(USER) && same(GROUP) && same(OWNING_GROUP) && changed.of(MASK) == 1);
        assert_eq!(minimal.with_perm(0o517).of(OWNING_GROUP), 1);
    }

    #[test]
    fn new_things_get_no_more_than_both_the_list_and_the_mode_allow() {
        let large = parse(&LARGE).unwrap();
        let file = inherit(&large, 0o1666, false);
        assert_eq!((file.perm, &file.default), (0o1660, &None));
        let access = Acl::parse(&file.access.unwrap()).unwrap().unwrap();
        assert_eq!((access.of(USER), access.of(OWNING_GROUP), access.of(MASK)), (6, 5, 6));
        let dir = inherit(&large, 0o2751, true);
        assert_eq!((dir.perm, dir.default), (0o2741, Some(large.to_bytes())));
        let plain = inherit(&parse(&MINIMAL).unwrap(), 0o777, false);
        assert_eq!(plain, Inherited { perm: 0o640, access: None, default: None });
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_kept(entries in proptest::collection::vec((0..0x40_u16, 0..9_u16, 0..4_u32), 0..8), cut in 0..80_usize) {
            let raw = bytes(&entries);
            for raw in [&raw[..], &raw[..cut.min(raw.len())]] {
                if let Ok(Some(acl)) = Acl::parse(raw) {
                    prop_assert_eq!(Acl::parse(&acl.to_bytes()), Ok(Some(acl)));
                }
            }
        }

        #[test]
        fn bits_and_lists_stay_in_step(perms in proptest::array::uniform6(0..8_u16), named in any::<bool>(), bits in 0..0o1000_u16) {
            let entries = LARGE.iter().zip(perms).map(|((tag, _, id), perm)| (*tag, perm, *id));
            let acl = parse(&entries.filter(|(tag, ..)| named || !matches!(*tag, USER | GROUP | MASK)).collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(acl.is_minimal(), !named);
            prop_assert_eq!(acl.with_perm(bits).perm(), bits);
            prop_assert_eq!(acl.inherited(bits).perm(), acl.perm() & bits);
            prop_assert_eq!(Acl::parse(&acl.with_perm(bits).to_bytes()), Ok(Some(acl.with_perm(bits))));
            prop_assert_eq!(acl.with_perm(acl.perm()), acl);
        }
    }
}
