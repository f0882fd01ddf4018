//! Serving an array: its sockets, its server, what people see meanwhile, and how it stops.

pub(crate) mod attach;
mod frontend;
mod live;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use parlour_engine::{Note, OpenArray, ServeError, ServeOptions, Stopper};
use parlour_nbd::{ConfigError, Export, Features, Limits, ListenError, Server, Terms};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::commands::create::sentence;
use crate::console::{self, Console, note};
use crate::settings::{Address, TimeoutSettings};
use frontend::NbdFrontend;
use live::LiveLine;

/// Why an array could not be served, or not to the end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("the export is not possible: {0}")]
    Export(#[from] ConfigError),
    #[error("the system has no descriptors or signals left: {0}")]
    System(#[from] io::Error),
}

/// Where to listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sockets<'a> {
    pub(crate) unix: Option<&'a Path>,
    pub(crate) tcp: Option<Address>,
    /// Take any free port where the one that is asked for is taken.
    pub(crate) any_port: bool,
}

/// Where an array is served.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Served {
    /// `"ready"`: clients may connect.
    event: &'static str,
    name: String,
    array: String,
    /// The Unix socket, absolute.
    pub(crate) unix: Option<PathBuf>,
    pub(crate) tcp: Option<SocketAddr>,
    /// Where the server is commanded.
    control: PathBuf,
    read_only: bool,
    capacity: u64,
    notes: Vec<String>,
}

/// An array that is ready to be served.
pub(crate) struct Service {
    server: parlour_engine::Server<NbdFrontend>,
    served: Served,
    /// The array in a sentence.
    about: String,
}

/// Requests up to this long: what clients commonly ask at the most.
const LONGEST_REQUEST: u32 = 32 << 20;

impl Service {
    /// Listens, and makes everything ready.
    ///
    /// # Errors
    /// A socket is taken, or the system refuses something.
    pub(crate) fn new(
        open: OpenArray,
        sockets: &Sockets<'_>,
        export: Option<&str>,
        read_only: bool,
        timeouts: &TimeoutSettings,
        named: &[PathBuf],
    ) -> Result<Service, ServiceError> {
        let mut nbd = Server::new(terms(&open, export, read_only)?)?;
        let tcp = listen(&mut nbd, sockets)?;
        let control = open.control_path();
        let served = Served {
            event: "ready",
            name: open.name().to_owned(),
            array: open.identity().to_string(),
            unix: sockets.unix.map(std::path::absolute).transpose()?,
            tcp,
            control: control.clone(),
            read_only,
            capacity: open.geometry().capacity().bytes().get(),
            notes: open.notes().iter().map(Note::to_string).collect(),
        };
        let about = format!("'{}': {}", open.name(), sentence(open.geometry()));
        let access_timeout = timeouts.access_timeout();
        let options = ServeOptions {
            control: Some(control),
            access_timeout,
            watched: named.to_vec(),
            ..ServeOptions::default()
        };
        let server = parlour_engine::Server::new(open, NbdFrontend::new(nbd), options)?;
        Ok(Service { server, served, about })
    }

    /// Serves until stopped. `guide` says how to use what is served.
    ///
    /// # Errors
    /// The system fails the server.
    pub(crate) fn run(
        mut self,
        console: Console,
        guide: impl FnOnce(&Served) -> String,
    ) -> Result<(), ServiceError> {
        stop_on_signals(&self.server.stopper())?;
        self.served.notes.iter().for_each(|line| note(line));
        self.announce(console, guide)?;
        let mut live = LiveLine::new(console);
        self.server.run(&mut |pulse| live.show(pulse))?;
        live.finish();
        Ok(())
    }

    fn announce(&self, console: Console, guide: impl FnOnce(&Served) -> String) -> io::Result<()> {
        if console.json {
            // One line, so that it can be waited for.
            let mut line = serde_json::to_string(&self.served)?;
            line.push('\n');
            return console::print(&line);
        }
        console::print(&format!("{}{}ready\n", self.text(), guide(&self.served)))
    }

    fn text(&self) -> String {
        let mode = if self.served.read_only { " (read-only)" } else { "" };
        let unix = self.served.unix.iter().map(|path| format!("nbd+unix:///?socket={}", path.display()));
        let tcp = self.served.tcp.iter().map(|address| format!("nbd://{address}"));
        let places: Vec<String> = unix.chain(tcp).collect();
        format!("{}{mode}\nServed on {}\n", self.about, places.join(" and "))
    }
}

/// What the export is, and what a client may use up.
fn terms(open: &OpenArray, export: Option<&str>, read_only: bool) -> Result<Terms, ConfigError> {
    let geometry = open.geometry();
    let block = u32::try_from(geometry.block().bytes().get()).expect("a block is 4 KiB at the most");
    let export = Export {
        name: export.unwrap_or(open.name()).to_owned(),
        description: sentence(geometry),
        size: geometry.capacity().bytes().get(),
        read_only,
        minimum_block: block,
        preferred_block: block.max(4096),
        features: Features::ALL,
    };
    Terms::new(export, Limits { payload: LONGEST_REQUEST, ..Limits::default() })
}

/// Listens; returns the TCP address with the port that it really is.
fn listen(server: &mut Server, sockets: &Sockets<'_>) -> Result<Option<SocketAddr>, ListenError> {
    if let Some(path) = sockets.unix {
        server.listen_unix(path)?;
    }
    let Some(Address(address)) = sockets.tcp else { return Ok(None) };
    match server.listen_tcp(address) {
        Err(ListenError::Io { source, .. })
            if sockets.any_port && source.kind() == io::ErrorKind::AddrInUse =>
        {
            let bound = server.listen_tcp(SocketAddr::new(address.ip(), 0))?;
            note(&format_args!("port {} is taken; port {} is used instead", address.port(), bound.port()));
            Ok(Some(bound))
        }
        bound => bound.map(Some),
    }
}

fn stop_on_signals(stopper: &Stopper) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, stopper.descriptor()?)?;
    }
    Ok(())
}
