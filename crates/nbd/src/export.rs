//! What is exported, and what a client may use up.

use std::time::Duration;

use crate::error::ConfigError;
use crate::wire::{self, STRING_LIMIT};

/// What the export can do beyond reading and writing. Commands and flags that are not offered are
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Offer `NBD_CMD_FLUSH`.
    pub flush: bool,
    /// Offer `NBD_CMD_FLAG_FUA`.
    pub fua: bool,
    /// Offer `NBD_CMD_TRIM`.
    pub trim: bool,
    /// Offer `NBD_CMD_WRITE_ZEROES`.
    pub write_zeroes: bool,
    /// Offer `NBD_CMD_FLAG_FAST_ZERO`: the backend answers [`Enotsup`](crate::NbdError::Enotsup) at
    /// once where zeroing is no faster than writing.
    pub fast_zero: bool,
    /// Offer `NBD_CMD_CACHE`.
    pub cache: bool,
    /// A flush on one connection covers what was answered on all of them
    /// (`NBD_FLAG_CAN_MULTI_CONN`).
    pub multi_conn: bool,
    /// Tell clients that the medium turns (`NBD_FLAG_ROTATIONAL`).
    pub rotational: bool,
}

impl Features {
    /// Everything, on a medium that does not turn.
    pub const ALL: Self = Self {
        flush: true,
        fua: true,
        trim: true,
        write_zeroes: true,
        fast_zero: true,
        cache: true,
        multi_conn: true,
        rotational: false,
    };
}

/// One exported range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name, at most 4096 bytes; the empty name selects it too.
    pub name: String,
    /// For people; may be empty; at most 4096 bytes.
    pub description: String,
    /// Size in bytes, a multiple of `minimum_block`.
    pub size: u64,
    /// Writes, trims and zeroes are refused with `EPERM`.
    pub read_only: bool,
    /// Minimum block size in bytes, a power of two up to 64 KiB: offsets and lengths are multiples
    /// of it. Above 1, a client that never learns of block sizes (`NBD_OPT_EXPORT_NAME`) meets
    /// `EINVAL` where it disregards it.
    pub minimum_block: u32,
    /// Preferred block size in bytes, a power of two of at least 512.
    pub preferred_block: u32,
    /// What else it can do.
    pub features: Features,
}

/// What one client may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, closed ones with requests in flight included; more are accepted and
    /// closed at once.
    pub connections: usize,
    /// Connections of one client: a TCP address, or another user than the server's own and root.
    pub per_client: usize,
    /// Of all connections, so many are for Unix sockets.
    pub reserved_for_unix: usize,
    /// Of all connections, so many more are for the server's own user and root, through Unix
    /// sockets.
    pub reserved_for_owner: usize,
    /// Connections in their handshake, of each kind: TCP, other users', the owner's. One more
    /// closes the oldest.
    pub handshakes: usize,
    /// Longest option data, in bytes, 4608 to 65536; a longer option is skipped and answered
    /// `NBD_REP_ERR_TOO_BIG`.
    pub option_length: u32,
    /// Options a client may send before it must have begun transmission.
    pub options: u32,
    /// Largest read or write in bytes, from 64 KiB to 1 GiB: the maximum block size told to
    /// clients.
    pub payload: u32,
    /// Requests in flight on a connection, and read payloads queued to be sent. More are left in
    /// the socket.
    pub in_flight: u16,
    /// Bytes of payload that a connection may hold while it asks for more: what is being written,
    /// read, or waits to be sent. Above it, one that holds nothing may still have one request. So a
    /// client that stops reading does not keep the memory of all.
    pub held: u32,
    /// Time from accepting a connection to the end of its handshake.
    pub handshake_timeout: Duration,
    /// Time in which a client that owes us the rest of a payload, or that has replies to take, must
    /// make progress: 64 KiB or all that was due.
    pub stall_timeout: Duration,
    /// The same while it keeps memory that another client waits for.
    pub low_space_timeout: Duration,
}

impl Limits {
    /// What suits most.
    pub const DEFAULT: Self = Self {
        connections: 64,
        per_client: 32,
        reserved_for_unix: 8,
        reserved_for_owner: 8,
        handshakes: 16,
        option_length: 16 << 10,
        options: 64,
        payload: 32 << 20,
        in_flight: 128,
        held: 16 << 20,
        handshake_timeout: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(30),
        low_space_timeout: Duration::from_secs(5),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// An export and limits that were checked and fit together.
#[derive(Clone, Debug)]
pub struct Terms {
    export: Export,
    limits: Limits,
}

impl Terms {
    /// Checks both.
    ///
    /// # Errors
    /// What the first bad value is.
    pub fn new(export: Export, limits: Limits) -> Result<Self, ConfigError> {
        check_limits(&limits)?;
        check_export(&export, limits.payload)?;
        Ok(Self { export, limits })
    }

    /// The export.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether a client that asks for `name` means this export.
    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    /// The 16 bits sent at the end of the handshake.
    pub(crate) fn transmission_flags(&self, structured_replies: bool) -> u16 {
        let writable = !self.export.read_only;
        let features = &self.export.features;
        [
            (true, wire::NBD_FLAG_HAS_FLAGS),
            (!writable, wire::NBD_FLAG_READ_ONLY),
            (features.flush, wire::NBD_FLAG_SEND_FLUSH),
            (features.fua, wire::NBD_FLAG_SEND_FUA),
            (features.rotational, wire::NBD_FLAG_ROTATIONAL),
            (features.trim && writable, wire::NBD_FLAG_SEND_TRIM),
            (features.write_zeroes && writable, wire::NBD_FLAG_SEND_WRITE_ZEROES),
            (structured_replies, wire::NBD_FLAG_SEND_DF),
            (features.multi_conn, wire::NBD_FLAG_CAN_MULTI_CONN),
            (features.cache, wire::NBD_FLAG_SEND_CACHE),
            (features.write_zeroes && features.fast_zero && writable, wire::NBD_FLAG_SEND_FAST_ZERO),
        ]
        .iter()
        .filter(|(offered, _)| *offered)
        .fold(0, |flags, (_, flag)| flags | flag)
    }
}

fn check_limits(limits: &Limits) -> Result<(), ConfigError> {
    if !(64 << 10..=1 << 30).contains(&limits.payload) {
        return Err(ConfigError::Payload(limits.payload));
    }
    if !(4608..=64 << 10).contains(&limits.option_length) {
        return Err(ConfigError::OptionLength(limits.option_length));
    }
    if limits.in_flight == 0 || limits.handshakes == 0 || limits.per_client == 0 {
        return Err(ConfigError::Count);
    }
    if !(1..=usize::from(u16::MAX)).contains(&limits.connections) {
        return Err(ConfigError::Count);
    }
    Ok(())
}

fn check_export(export: &Export, maximum_block: u32) -> Result<(), ConfigError> {
    let minimum = export.minimum_block;
    if !minimum.is_power_of_two() || minimum > 64 << 10 {
        return Err(ConfigError::MinimumBlock(minimum));
    }
    if !maximum_block.is_multiple_of(minimum) {
        return Err(ConfigError::Payload(maximum_block));
    }
    let preferred = export.preferred_block;
    if !preferred.is_power_of_two() || preferred < minimum.max(512) || preferred > maximum_block {
        return Err(ConfigError::PreferredBlock(preferred));
    }
    if !export.size.is_multiple_of(u64::from(minimum)) {
        return Err(ConfigError::Size(export.size));
    }
    let fits = |text: &str| text.len() <= STRING_LIMIT && !text.contains('\0');
    if fits(&export.name) && fits(&export.description) { Ok(()) } else { Err(ConfigError::BadString) }
}
