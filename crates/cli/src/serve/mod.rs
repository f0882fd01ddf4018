//! Serves an array: its sockets, its server, its output, and the end of the server.

pub(crate) mod attach;
mod frontend;
mod live;
mod outlet;
mod signals;

use std::fs::DirBuilder;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use parlour_engine::{Note, OpenArray, ServeError, ServeOptions};
use parlour_nbd::{
    ConfigError, Export, Features, Limits, ListenError, Server, SocketAccess, Terms, group_number,
};
use serde::Serialize;

use crate::console::{Console, note};
use crate::settings::{Address, ServingSettings, TimeoutSettings};
use crate::wording::sentence;
use frontend::NbdFrontend;
use live::Live;

/// Why an array could not be served, or the server failed.
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

/// The parameters of serving an array.
#[derive(Debug)]
pub(crate) struct Serving<'a> {
    pub(crate) settings: &'a ServingSettings,
    /// The directory of the Unix socket, if no socket path is set; none for the directory of the
    /// control socket.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) timeouts: &'a TimeoutSettings,
    /// The paths of members as the user gave them. Absent members may appear there.
    pub(crate) named: &'a [PathBuf],
    pub(crate) read_only: bool,
    /// Use any free TCP port if the usual one is in use.
    pub(crate) any_port: bool,
}

/// The name of the NBD socket in an array's directory.
const SOCKET: &str = "nbd.sock";

/// Where an array is served.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Served {
    /// `"ready"`: clients may connect.
    event: &'static str,
    name: String,
    array: String,
    /// The Unix socket's absolute path.
    pub(crate) unix: Option<PathBuf>,
    pub(crate) tcp: Option<SocketAddr>,
    /// The control socket's path.
    control: PathBuf,
    read_only: bool,
    capacity: u64,
    notes: Vec<String>,
}

/// An array that is ready to be served.
pub(crate) struct Service {
    server: parlour_engine::Server<NbdFrontend>,
    served: Served,
    /// A description of the array in one sentence.
    about: String,
    /// Notes about the serving.
    notes: Vec<String>,
}

/// The longest request: the usual maximum of clients.
const LONGEST_REQUEST: u32 = 32 << 20;

impl Service {
    /// Listens on the sockets, and prepares the server.
    ///
    /// # Errors
    /// A socket is in use, or a system call fails.
    pub(crate) fn new(open: OpenArray, serving: &Serving<'_>) -> Result<Service, ServiceError> {
        let Serving { settings, read_only, .. } = *serving;
        let mut nbd = Server::new(terms(&open, settings.export.as_deref(), read_only)?)?;
        let control = open.control_path();
        let unix = serving.unix(&control)?;
        nbd.listen_unix_for(&unix, settings.access()?)?;
        let mut notes = Vec::new();
        let tcp = listen_tcp(&mut nbd, serving, &mut notes)?;
        let served = Served {
            event: "ready",
            name: open.name().to_owned(),
            array: open.identity().to_string(),
            unix: Some(unix),
            tcp,
            control: control.clone(),
            read_only,
            capacity: open.geometry().capacity().bytes().get(),
            notes: open.notes().iter().map(Note::to_string).collect(),
        };
        let about = format!("'{}': {}", open.name(), sentence(open.geometry(), journals(&open)));
        let mut options = ServeOptions {
            control: Some(control),
            access_timeout: serving.timeouts.access_timeout(),
            watched: serving.named.to_vec(),
            ..ServeOptions::default()
        };
        options.grace = settings.grace.map_or(options.grace, |grace| grace.0);
        let server = parlour_engine::Server::new(open, NbdFrontend::new(nbd), options)?;
        Ok(Service { server, served, about, notes })
    }

    /// Serves until stopped. `guide` returns the instructions for clients.
    ///
    /// # Errors
    /// A system call of the server fails.
    pub(crate) fn run(
        mut self,
        console: Console,
        guide: impl FnOnce(&Served) -> String,
    ) -> Result<(), ServiceError> {
        signals::handle(&self.server.stopper())?;
        let live = Live::new(console)?;
        self.served.notes.iter().chain(&self.notes).for_each(|line| live.note(line));
        live.answer(&self.announcement(console, guide)?);
        let result = self.server.run(&mut |pulse| live.show(pulse));
        live.finish();
        if self.server.accesses_given_up() > 0 {
            note(&STILL_HELD);
        }
        Ok(result?)
    }

    fn announcement(&self, console: Console, guide: impl FnOnce(&Served) -> String) -> io::Result<String> {
        if console.json {
            // One line, so that a script can wait for it.
            let mut line = serde_json::to_string(&self.served)?;
            line.push('\n');
            return Ok(line);
        }
        Ok(format!("{}{}ready\n", self.text(), guide(&self.served)))
    }

    fn text(&self) -> String {
        let mode = if self.served.read_only { " (read-only)" } else { "" };
        let unix = self.served.unix.iter().map(|path| format!("nbd+unix:///?socket={}", path.display()));
        let tcp = self.served.tcp.iter().map(|address| format!("nbd://{address}"));
        let places: Vec<String> = unix.chain(tcp).collect();
        format!("{}{mode}\nServed on {}\n", self.about, places.join(" and "))
    }
}

/// The last words of a server that has stopped, and that the system does not let go.
const STILL_HELD: &str = "the array is stopped and its other members are closed; a member still does not answer, so this \
                          process may last until the system has answered";

/// The number of journal devices.
fn journals(open: &OpenArray) -> usize {
    open.array().status().journals.len()
}

/// The properties of the export, and the limits of a client.
fn terms(open: &OpenArray, export: Option<&str>, read_only: bool) -> Result<Terms, ConfigError> {
    let geometry = open.geometry();
    let block = u32::try_from(geometry.block().bytes().get()).expect("a block is 4 KiB at the most");
    let export = Export {
        name: export.unwrap_or(open.name()).to_owned(),
        description: sentence(geometry, journals(open)),
        size: geometry.capacity().bytes().get(),
        read_only,
        minimum_block: block,
        preferred_block: block.max(4096),
        features: Features::ALL,
    };
    Terms::new(export, Limits { payload: LONGEST_REQUEST, ..Limits::default() })
}

impl Serving<'_> {
    /// The Unix socket's absolute path. `control` is the control socket's path.
    fn unix(&self, control: &Path) -> io::Result<PathBuf> {
        let path = match (&self.settings.unix, self.directory) {
            (Some(path), _) => path.clone(),
            (None, Some(directory)) => directory.join(SOCKET),
            (None, None) => beside(control)?,
        };
        std::path::absolute(path)
    }
}

/// The NBD socket beside the control socket, with `nbd-` in place of `parlour-` in its name. Below
/// /run its directory is made, with access only for its owner.
fn beside(control: &Path) -> io::Result<PathBuf> {
    let name = control.file_name().unwrap_or_default().to_string_lossy();
    let path = control.with_file_name(name.replacen("parlour-", "nbd-", 1));
    if let Some(directory) = path.parent().filter(|directory| directory.starts_with("/run")) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    Ok(path)
}

impl ServingSettings {
    /// The permissions of the Unix socket.
    fn access(&self) -> Result<SocketAccess, ListenError> {
        let group = self.socket_group.as_deref().map(group_number).transpose()?;
        // If a group is named, it gets access.
        let usual = if group.is_some() { 0o660 } else { SocketAccess::default().mode };
        Ok(SocketAccess { mode: self.socket_mode.as_ref().map_or(usual, |mode| mode.0), group })
    }
}

/// Listens on TCP if this is set. Returns the address with the actual port.
fn listen_tcp(
    server: &mut Server,
    serving: &Serving<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<SocketAddr>, ListenError> {
    let Some(Address(address)) = serving.settings.tcp else { return Ok(None) };
    let bound = match server.listen_tcp(address) {
        Err(ListenError::Io { source, .. })
            if serving.any_port && source.kind() == io::ErrorKind::AddrInUse =>
        {
            let bound = server.listen_tcp(SocketAddr::new(address.ip(), 0))?;
            notes.push(format!("port {} is taken; port {} is used instead", address.port(), bound.port()));
            bound
        }
        bound => bound?,
    };
    notes.push(warning(bound));
    Ok(Some(bound))
}

/// The warning about the security of TCP.
fn warning(address: SocketAddr) -> String {
    let whoever = match address.ip().is_loopback() {
        true => "every user and program of this machine",
        false => "whoever reaches this address over the network",
    };
    format!(
        "{address} asks for no password and encrypts nothing: {whoever} can read and write the whole array \
         (docs/security.md)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_socket_lies_in_the_arrays_directory_or_beside_the_control_socket() {
        let settings = ServingSettings::default();
        let control = Path::new("/disks/parlour-0f52c1d3.sock");
        let timeouts = TimeoutSettings::default();
        let serving = |directory| Serving {
            settings: &settings,
            timeouts: &timeouts,
            named: &[],
            directory,
            read_only: false,
            any_port: false,
        };
        assert_eq!(serving(None).unix(control).unwrap(), Path::new("/disks/nbd-0f52c1d3.sock"));
        let inside = serving(Some(Path::new("/data"))).unix(control).unwrap();
        assert_eq!(inside, Path::new("/data/nbd.sock"));
    }

    #[test]
    fn a_group_that_is_named_is_let_in() {
        let mut settings = ServingSettings::default();
        assert_eq!(settings.access().unwrap(), SocketAccess { mode: 0o600, group: None });
        settings.socket_group = Some("7".into());
        assert_eq!(settings.access().unwrap(), SocketAccess { mode: 0o660, group: Some(7) });
        settings.socket_mode = Some("0666".parse().unwrap());
        assert_eq!(settings.access().unwrap(), SocketAccess { mode: 0o666, group: Some(7) });
    }

    #[test]
    fn the_warning_names_those_who_can_come() {
        assert!(warning(([127, 0, 0, 1], 5).into()).contains("every user and program of this machine"));
        assert!(warning(([0, 0, 0, 0], 5).into()).starts_with("0.0.0.0:5 asks for no password"));
    }
}
