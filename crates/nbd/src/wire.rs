//! The numbers of the protocol, and a reader of big-endian fields that checks the length.

pub(crate) const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
pub(crate) const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(crate) const NBD_REQUEST_MAGIC: u32 = 0x2560_9513;
pub(crate) const NBD_SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(crate) const NBD_STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of an option's header: magic, option, length of data.
pub(crate) const OPTION_HEADER: usize = 16;
/// Bytes of a request's header.
pub(crate) const REQUEST_HEADER: usize = 28;

pub(crate) const NBD_FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
pub(crate) const NBD_FLAG_NO_ZEROES: u16 = 1 << 1;

pub(crate) const NBD_FLAG_C_FIXED_NEWSTYLE: u32 = 1 << 0;
pub(crate) const NBD_FLAG_C_NO_ZEROES: u32 = 1 << 1;

pub(crate) const NBD_FLAG_HAS_FLAGS: u16 = 1 << 0;
pub(crate) const NBD_FLAG_READ_ONLY: u16 = 1 << 1;
pub(crate) const NBD_FLAG_SEND_FLUSH: u16 = 1 << 2;
pub(crate) const NBD_FLAG_SEND_FUA: u16 = 1 << 3;
pub(crate) const NBD_FLAG_ROTATIONAL: u16 = 1 << 4;
pub(crate) const NBD_FLAG_SEND_TRIM: u16 = 1 << 5;
pub(crate) const NBD_FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
pub(crate) const NBD_FLAG_SEND_DF: u16 = 1 << 7;
pub(crate) const NBD_FLAG_CAN_MULTI_CONN: u16 = 1 << 8;
pub(crate) const NBD_FLAG_SEND_CACHE: u16 = 1 << 10;
pub(crate) const NBD_FLAG_SEND_FAST_ZERO: u16 = 1 << 11;

pub(crate) const NBD_OPT_EXPORT_NAME: u32 = 1;
pub(crate) const NBD_OPT_ABORT: u32 = 2;
pub(crate) const NBD_OPT_LIST: u32 = 3;
pub(crate) const NBD_OPT_INFO: u32 = 6;
pub(crate) const NBD_OPT_GO: u32 = 7;
pub(crate) const NBD_OPT_STRUCTURED_REPLY: u32 = 8;
pub(crate) const NBD_OPT_LIST_META_CONTEXT: u32 = 9;
pub(crate) const NBD_OPT_SET_META_CONTEXT: u32 = 10;

pub(crate) const NBD_REP_ACK: u32 = 1;
pub(crate) const NBD_REP_SERVER: u32 = 2;
pub(crate) const NBD_REP_INFO: u32 = 3;
pub(crate) const NBD_REP_META_CONTEXT: u32 = 4;
pub(crate) const NBD_REP_ERR_UNSUP: u32 = (1 << 31) + 1;
pub(crate) const NBD_REP_ERR_INVALID: u32 = (1 << 31) + 3;
pub(crate) const NBD_REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;
pub(crate) const NBD_REP_ERR_TOO_BIG: u32 = (1 << 31) + 9;

pub(crate) const NBD_INFO_EXPORT: u16 = 0;
pub(crate) const NBD_INFO_NAME: u16 = 1;
pub(crate) const NBD_INFO_DESCRIPTION: u16 = 2;
pub(crate) const NBD_INFO_BLOCK_SIZE: u16 = 3;

pub(crate) const NBD_CMD_READ: u16 = 0;
pub(crate) const NBD_CMD_WRITE: u16 = 1;
pub(crate) const NBD_CMD_DISC: u16 = 2;
pub(crate) const NBD_CMD_FLUSH: u16 = 3;
pub(crate) const NBD_CMD_TRIM: u16 = 4;
pub(crate) const NBD_CMD_CACHE: u16 = 5;
pub(crate) const NBD_CMD_WRITE_ZEROES: u16 = 6;
pub(crate) const NBD_CMD_BLOCK_STATUS: u16 = 7;

pub(crate) const NBD_CMD_FLAG_FUA: u16 = 1 << 0;
pub(crate) const NBD_CMD_FLAG_NO_HOLE: u16 = 1 << 1;
pub(crate) const NBD_CMD_FLAG_DF: u16 = 1 << 2;
pub(crate) const NBD_CMD_FLAG_REQ_ONE: u16 = 1 << 3;
pub(crate) const NBD_CMD_FLAG_FAST_ZERO: u16 = 1 << 4;

pub(crate) const NBD_REPLY_FLAG_DONE: u16 = 1 << 0;
pub(crate) const NBD_REPLY_TYPE_OFFSET_DATA: u16 = 1;
pub(crate) const NBD_REPLY_TYPE_BLOCK_STATUS: u16 = 5;
pub(crate) const NBD_REPLY_TYPE_ERROR: u16 = (1 << 15) + 1;

pub(crate) const NBD_STATE_HOLE: u32 = 1 << 0;
pub(crate) const NBD_STATE_ZERO: u32 = 1 << 1;

/// The longest string the protocol allows, in bytes.
pub(crate) const STRING_LIMIT: usize = 4096;

/// Takes big-endian fields from the front of a slice; `None` if too few bytes are left.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A string after its 32-bit length.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }
}
