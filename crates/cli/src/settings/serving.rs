//! Settings of how an array is served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use parlour_lab::fill;

/// Where and how an array is served.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Serving")]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ServingSettings {
    /// Serve on this Unix socket, which its owner alone may use
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// Serve on this TCP address: PORT or IP:PORT [default IP: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) tcp: Option<Address>,
    /// Name of the export [default: the array's name; clients may leave it out]
    #[arg(long, value_name = "NAME")]
    pub(crate) export: Option<String>,
    /// How members are accessed [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) io: Option<IoChoice>,
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

/// The port that is registered for NBD.
pub(crate) const NBD_PORT: u16 = 10809;

impl Address {
    pub(crate) fn loopback(port: u16) -> Address {
        Address(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

/// A text that is no address.
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
        fill!(self, file, [unix, tcp, export, io])
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
