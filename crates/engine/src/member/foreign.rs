//! Recognises foreign data on a member by its signatures.

use std::fmt;

use super::{Member, MemberError, bounce};

/// How much of the beginning is searched.
const HEAD: u64 = 1 << 20;
/// How much of the end is searched: enough for a superblock in the last 64 KiB block that is
/// aligned to 64 KiB.
const TAIL: u64 = 128 << 10;

/// Foreign data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The kind of data.
    pub name: &'static str,
    /// The position of its signature, in bytes from the member's start.
    pub at: u64,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (found at byte {})", self.name, self.at)
    }
}

impl Member {
    /// Looks for file systems, partition tables, other arrays, volume managers and encryption.
    /// Nothing is changed. An empty result is no proof: data without a signature cannot be
    /// recognised.
    ///
    /// # Errors
    /// If the beginning or the end cannot be read.
    pub fn probe_foreign(&self) -> Result<Vec<Foreign>, MemberError> {
        let length = self.length.get();
        let head = self.look(0, length.min(HEAD))?;
        let tail_start = length.saturating_sub(TAIL) / 4096 * 4096;
        let tail = self.look(tail_start, length - tail_start)?;
        let mut found = Vec::new();
        found.extend(SIGNATURES.iter().filter_map(|signature| signature.in_head(&head)));
        found.extend(swap(&head));
        found.extend(extended(&head));
        found.extend(zfs(&head));
        found.extend(md_member(&head, &tail, tail_start, length));
        found.extend(partitions(&head, &tail, tail_start, !found.is_empty()));
        Ok(found)
    }

    fn look(&self, at: u64, length: u64) -> Result<Vec<u8>, MemberError> {
        let mut pages = bounce(length as usize);
        let bytes = pages.write(0..length as usize);
        match self.read_aligned(at, bytes) {
            Ok(()) => Ok(bytes.to_vec()),
            Err(failure) => Err(self.refused("look for foreign content")(failure.errno())),
        }
    }
}

/// A signature at a fixed position near the beginning.
struct Signature {
    name: &'static str,
    at: usize,
    magic: &'static [u8],
}

const fn signature(name: &'static str, at: usize, magic: &'static [u8]) -> Signature {
    Signature { name, at, magic }
}

const SIGNATURES: &[Signature] = &[
    signature("XFS file system", 0, b"XFSB"),
    signature("Btrfs file system", 0x1_0040, b"_BHRfS_M"),
    signature("NTFS file system", 3, b"NTFS    "),
    signature("exFAT file system", 3, b"EXFAT   "),
    signature("FAT file system", 54, b"FAT"),
    signature("FAT file system", 82, b"FAT32   "),
    signature("F2FS file system", 1024, &0xf2f5_2010_u32.to_le_bytes()),
    signature("EROFS file system", 1024, &0xe0f5_e1e2_u32.to_le_bytes()),
    signature("SquashFS file system", 0, b"hsqs"),
    signature(
        "bcachefs file system",
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    signature(
        "bcachefs file system",
        4096 + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    signature("ISO 9660 file system", 0x8001, b"CD001"),
    signature("LVM2 physical volume", 0, b"LABELONE"),
    signature("LVM2 physical volume", 512, b"LABELONE"),
    signature("LVM2 physical volume", 1024, b"LABELONE"),
    signature("LVM2 physical volume", 1536, b"LABELONE"),
    signature("LUKS encrypted volume", 0, b"LUKS\xba\xbe"),
    signature("LUKS encrypted volume (second header)", 0x4000, b"SKUL\xba\xbe"),
    signature("BitLocker encrypted volume", 3, b"-FVE-FS-"),
    signature("Ceph BlueStore device", 0, b"bluestore block device"),
];

impl Signature {
    fn in_head(&self, head: &[u8]) -> Option<Foreign> {
        has(head, self.at, self.magic).then_some(Foreign { name: self.name, at: self.at as u64 })
    }
}

fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

/// Swap space: its signature is at the end of the first page, for any page size.
fn swap(head: &[u8]) -> Option<Foreign> {
    let places = [4096, 8192, 16_384, 65_536].map(|page: usize| page - 10);
    let at = places.into_iter().find(|at| has(head, *at, b"SWAPSPACE2") || has(head, *at, b"SWAP-SPACE"))?;
    Some(Foreign { name: "swap space", at: at as u64 })
}

/// ext2, ext3 and ext4 have the same magic number, and are distinguished by features.
fn extended(head: &[u8]) -> Option<Foreign> {
    const SUPERBLOCK: usize = 1024;
    const MAGIC: u16 = 0xef53;
    /// Features that only ext4 has: extents, 64 bit, flexible block groups.
    const INCOMPATIBLE_EXT4: u32 = 0x40 | 0x80 | 0x200;
    const COMPATIBLE_JOURNAL: u32 = 0x4;
    if u16_at(head, SUPERBLOCK + 0x38)? != MAGIC {
        return None;
    }
    let compatible = u32_at(head, SUPERBLOCK + 0x5c)?;
    let incompatible = u32_at(head, SUPERBLOCK + 0x60)?;
    let name = if incompatible & INCOMPATIBLE_EXT4 != 0 {
        "ext4 file system"
    } else if compatible & COMPATIBLE_JOURNAL != 0 {
        "ext3 file system"
    } else {
        "ext2 file system"
    };
    Some(Foreign { name, at: SUPERBLOCK as u64 + 0x38 })
}

/// ZFS: the uberblock ring in one of the two labels at the front.
fn zfs(head: &[u8]) -> Option<Foreign> {
    const LABEL: usize = 256 << 10;
    const RING: std::ops::Range<usize> = 128 << 10..LABEL;
    const MAGIC: u64 = 0x00ba_b10c;
    let places = [0, LABEL].into_iter().flat_map(|label| RING.step_by(1024).map(move |at| label + at));
    let mut found =
        places.filter(|at| has(head, *at, &MAGIC.to_le_bytes()) || has(head, *at, &MAGIC.to_be_bytes()));
    found.next().map(|at| Foreign { name: "ZFS pool member", at: at as u64 })
}

/// Linux md: at the front (1.1, 1.2) or near the end (1.0, 0.90).
fn md_member(head: &[u8], tail: &[u8], tail_start: u64, length: u64) -> Option<Foreign> {
    const MAGIC: u32 = 0xa92b_4efc;
    let sectors = length / 512;
    let version_1_0 = (sectors.saturating_sub(16) & !7) * 512;
    let version_0_90 = ((sectors & !127).saturating_sub(128)) * 512;
    let in_tail = |at: u64| at.checked_sub(tail_start).and_then(|offset| tail.get(offset as usize..));
    let places = [(0, head.get(0..)), (4096, head.get(4096..))]
        .into_iter()
        .chain([version_1_0, version_0_90].map(|at| (at, in_tail(at))));
    let mut found = places.filter(|(_, bytes)| {
        bytes.is_some_and(|bytes| {
            bytes.starts_with(&MAGIC.to_le_bytes()) || bytes.starts_with(&MAGIC.to_be_bytes())
        })
    });
    found.next().map(|(at, _)| Foreign { name: "Linux md array member", at })
}

/// A GUID partition table at either end, or an MBR with a partition in it.
fn partitions(head: &[u8], tail: &[u8], tail_start: u64, known: bool) -> Option<Foreign> {
    const GPT: &[u8] = b"EFI PART";
    if let Some(at) = [512, 4096].into_iter().find(|at| has(head, *at, GPT)) {
        return Some(Foreign { name: "GPT partition table", at: at as u64 });
    }
    let from_end = [512, 4096].into_iter().filter_map(|block| tail.len().checked_sub(block));
    if let Some(at) = from_end.into_iter().find(|at| has(tail, *at, GPT)) {
        return Some(Foreign {
            name: "GPT partition table (the copy at the end)",
            at: tail_start + at as u64,
        });
    }
    // Boot sectors of file systems have the MBR's signature too, and code in place of its table.
    (!known && has_mbr_partition(head)).then_some(Foreign { name: "MBR partition table", at: 510 })
}

fn has_mbr_partition(head: &[u8]) -> bool {
    const TABLE: usize = 446;
    if !has(head, 510, &[0x55, 0xaa]) {
        return false;
    }
    let entries: Vec<&[u8]> = head[TABLE..510].chunks(16).collect();
    // Byte 0 is the boot flag, byte 4 is the type, and the last four bytes are the length.
    entries.iter().all(|entry| matches!(entry[0], 0 | 0x80))
        && entries.iter().any(|entry| entry[4] != 0 && entry[12..].iter().any(|byte| *byte != 0))
}
