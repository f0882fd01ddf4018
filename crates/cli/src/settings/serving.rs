//! The settings for serving an array.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use parlour_lab::fill;
use parlour_lab::settings::Time;
use parlour_units::ParseDurationError;

/// Where and how an array is served.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Serving")]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ServingSettings {
    /// Serve on this Unix socket [default: nbd.sock in the array's directory, or nbd-ID.sock beside
    /// its first member]
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// Permissions of the Unix socket, such as 0660 [default: 0600, and 0660 with --socket-group]
    #[arg(long, value_name = "MODE")]
    pub(crate) socket_mode: Option<SocketMode>,
    /// Group of the Unix socket, by name or number [default: the server's own]
    #[arg(long, value_name = "GROUP")]
    pub(crate) socket_group: Option<String>,
    /// Also serve on this TCP address, without authentication: PORT or IP:PORT [default:
    /// 127.0.0.1:10809]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address, num_args = 0..=1,
          default_missing_value = NBD_PORT_TEXT)]
    pub(crate) tcp: Option<Address>,
    /// Name of the export [default: the array's name; clients may leave it out]
    #[arg(long, value_name = "NAME")]
    pub(crate) export: Option<String>,
    /// How long requests of clients may still begin after a stop was requested; later they are
    /// refused [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) grace: Option<Time>,
    /// How members are accessed [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) io: Option<IoChoice>,
}

/// Permission bits of a socket, in octal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct SocketMode(pub(crate) u32);

/// The text is not a socket mode.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no mode of a socket; write three or four octal digits, such as 0660")]
pub(crate) struct ModeError(String);

impl FromStr for SocketMode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<SocketMode, ModeError> {
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777 && text.len() >= 3);
        mode.map(SocketMode).ok_or_else(|| ModeError(text.to_owned()))
    }
}

impl TryFrom<String> for SocketMode {
    type Error = ModeError;

    fn try_from(text: String) -> Result<SocketMode, ModeError> {
        text.parse()
    }
}

impl From<SocketMode> for String {
    fn from(mode: SocketMode) -> String {
        format!("{:04o}", mode.0)
    }
}

fn parse_time(text: &str) -> Result<Time, ParseDurationError> {
    text.parse().map(Time)
}

/// How members are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IoChoice {
    /// The best way that this system offers.
    Auto,
    /// io_uring.
    Uring,
    /// A pool of threads.
    Threads,
}

/// A TCP address; loopback unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Address(pub(crate) SocketAddr);

/// The registered port of NBD.
const NBD_PORT: u16 = 10809;
const NBD_PORT_TEXT: &str = "10809";

impl Address {
    fn loopback(port: u16) -> Address {
        Address(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    /// Whether it is the default address.
    pub(crate) fn is_usual(self) -> bool {
        self == Address::loopback(NBD_PORT)
    }
}

/// The text is not an address.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' is no address; write a port (10809) or an IP address and a port (127.0.0.1:10809, [::1]:10809)"
)]
pub(crate) struct AddressError(String);

fn parse_address(text: &str) -> Result<Address, AddressError> {
    let bad = || AddressError(text.to_owned());
    if let Ok(port) = text.parse() {
        return Ok(Address::loopback(port));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(Address(SocketAddr::new(ip, NBD_PORT)));
    }
    text.parse().map(Address).map_err(|_| bad())
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Address, AddressError> {
        parse_address(&text)
    }
}

impl ServingSettings {
    pub(crate) fn or(self, file: Self) -> Self {
        fill!(self, file, [unix, socket_mode, socket_group, tcp, export, grace, io])
    }
}

impl From<IoChoice> for parlour_engine::Choice {
    fn from(choice: IoChoice) -> parlour_engine::Choice {
        match choice {
            IoChoice::Auto => parlour_engine::Choice::Auto,
            IoChoice::Uring => parlour_engine::Choice::Uring,
            IoChoice::Threads => parlour_engine::Choice::Threads,
        }
    }
}
