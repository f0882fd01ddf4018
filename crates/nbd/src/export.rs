//! The export, and the limits on what a client may use.

use std::time::Duration;

use crate::error::ConfigError;
use crate::wire::{self, STRING_LIMIT};

/// The features of the export in addition to reads and writes. Commands and flags that are not
/// offered are refused.
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
    /// Offer `NBD_CMD_FLAG_FAST_ZERO`: the backend must answer
    /// [`Enotsup`](crate::NbdError::Enotsup) at once if zeroing is no faster than writing.
    pub fast_zero: bool,
    /// Offer `NBD_CMD_CACHE`.
    pub cache: bool,
    /// A flush on one connection covers the writes that were answered on all connections
    /// (`NBD_FLAG_CAN_MULTI_CONN`).
    pub multi_conn: bool,
    /// Report a rotating medium to clients (`NBD_FLAG_ROTATIONAL`).
    pub rotational: bool,
}

impl Features {
    /// All features, on a medium that does not rotate.
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
    /// A description for people. It may be empty, and has at most 4096 bytes.
    pub description: String,
    /// Size in bytes, a multiple of `minimum_block`.
    pub size: u64,
    /// Writes, trims and zeroes are refused with `EPERM`.
    pub read_only: bool,
    /// Minimum block size in bytes, a power of two up to 64 KiB: offsets and lengths are multiples
    /// of it. If it is above 1, a client that cannot learn block sizes (`NBD_OPT_EXPORT_NAME`) gets
    /// `EINVAL` for requests that are not aligned to it.
    pub minimum_block: u32,
    /// Preferred block size in bytes, a power of two of at least 512.
    pub preferred_block: u32,
    /// Its other features.
    pub features: Features,
}

/// The limits on what clients may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at a time, including closed ones with requests in flight. Further
    /// connections are accepted and closed at once.
    pub connections: usize,
    /// The most connections of one client: a TCP address, or a user other than root and the
    /// server's own user.
    pub per_client: usize,
    /// The number of connections that are reserved for Unix sockets.
    pub reserved_for_unix: usize,
    /// The number of further connections that are reserved for root and the server's own user on
    /// Unix sockets.
    pub reserved_for_owner: usize,
    /// The most connections in their handshake, for each kind of client: TCP, other users, the
    /// owner. One more closes the oldest.
    pub handshakes: usize,
    /// The longest option data, in bytes, 4608 to 65536. A longer option is skipped and answered
    /// `NBD_REP_ERR_TOO_BIG`.
    pub option_length: u32,
    /// The most options that a client may send before transmission.
    pub options: u32,
    /// The largest read or write in bytes, from 64 KiB to 1 GiB. It is reported to clients as the
    /// maximum block size.
    pub payload: u32,
    /// The most requests in flight on a connection, including read payloads that are queued to be
    /// sent. Further requests stay in the socket.
    pub in_flight: u16,
    /// The most bytes of payload that a connection may hold and still get more: payload that is
    /// being written or read, or waits to be sent. A connection that holds nothing may always have
    /// one request. So a client that stops reading cannot hold the memory of all clients.
    pub held: u32,
    /// The time limit of a handshake, from the acceptance of the connection.
    pub handshake_timeout: Duration,
    /// The time in which a client must make progress if it has to send the rest of a payload or to
    /// receive replies. Progress is 64 KiB, or everything that was due.
    pub stall_timeout: Duration,
    /// The same limit while the client holds memory that another client waits for.
    pub low_space_timeout: Duration,
}

impl Limits {
    /// Limits for most uses.
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

/// An export and limits that were checked and are consistent.
#[derive(Clone, Debug)]
pub struct Terms {
    export: Export,
    limits: Limits,
}

impl Terms {
    /// Checks the export and the limits.
    ///
    /// # Errors
    /// The first invalid value.
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

    /// Whether the name that a client sends selects this export.
    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    /// The 16 flag bits sent at the end of the handshake.
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
