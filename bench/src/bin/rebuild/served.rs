//! An array on stand-ins, served by a thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use parlour_array::Tuning;
use parlour_engine::control::{self, Request};
use parlour_engine::{
    ACCESS_TIMEOUT, Choice, CreateRequest, OpenRequest, ServeError, ServeOptions, Server, Stopper,
};
use serde_json::Value;

use crate::hosts::Hosts;
use crate::stand_in::{Devices, StandIn};

/// How often the state is asked for.
const LOOK: Duration = Duration::from_millis(5);
/// The array is idle when it accessed no member so many times in a row.
const IDLE: usize = 20;

/// An array that is served.
pub(crate) struct Served {
    pub(crate) members: Vec<PathBuf>,
    /// Data units of a stripe.
    pub(crate) data: u16,
    control: PathBuf,
    stopper: Stopper,
    thread: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    /// Creates an array, serves it, fills it, and waits until it is idle.
    pub(crate) fn start(
        request: &CreateRequest,
        tuning: Tuning,
        short: u64,
        devices: &Arc<Devices>,
    ) -> Served {
        parlour_engine::create(request).expect("the array can be created");
        let open = parlour_engine::open(&OpenRequest {
            members: request.members.clone(),
            read_only: false,
            force: false,
            tuning,
            io: Choice::Auto,
            access_timeout: ACCESS_TIMEOUT,
            recorded: false,
        });
        let open = open.expect("the array can be opened");
        let (control, width) = (open.control_path(), open.geometry().layout().width());
        let backend = StandIn::new(devices).expect("a backend");
        let options = ServeOptions {
            control: Some(control.clone()),
            backend: Some(Box::new(backend)),
            ..ServeOptions::default()
        };
        let (sender, filled) = channel();
        let hosts = Hosts::new(short, sender).expect("a descriptor");
        let mut server = Server::new(open, hosts, options).expect("the array can be served");
        let stopper = server.stopper();
        let thread = std::thread::spawn(move || server.run(&mut |_| ()));
        filled.recv().expect("the array is filled");
        let members = request.members.clone();
        let served = Served { members, data: width - request.checks, control, stopper, thread };
        served.settle();
        served
    }

    /// Waits until the array is idle.
    pub(crate) fn settle(&self) {
        let mut idle = 0;
        self.until(|status| {
            // (A resync that needs a member that is missing has stopped.)
            let resync = &status["resync"];
            let waits = resync.is_null() || resync["stopped"] == true;
            idle = if waits && status["accesses_in_flight"] == 0 { idle + 1 } else { 0 };
            idle == IDLE
        });
    }

    pub(crate) fn fail(&self, slot: u16) {
        self.command(&Request::Fail { member: slot, force: false });
    }

    pub(crate) fn replace(&self, slot: u16, new: &Path) {
        self.command(&Request::Replace { member: slot, path: new.into(), force: false });
    }

    /// Waits until the members of all slots are whole.
    pub(crate) fn until_whole(&self) {
        self.until(|status| {
            let members = status["members"].as_array().expect("members are listed");
            status["rebuild"].is_null() && members.iter().all(|member| member["state"] == "active")
        });
    }

    /// Waits until all units of `slot` are in spare room.
    pub(crate) fn until_moved(&self, slot: u16) {
        self.until(|status| {
            status["rebuild"].is_null() && status["members"][usize::from(slot)]["in_spare_room"] == true
        });
    }

    /// Compares all redundancy.
    pub(crate) fn check(&self) {
        self.command(&Request::Scrub { repair: control::Repairing::Nothing });
        let mut report = Value::Null;
        self.until(|status| {
            report = status["last_scrub"].clone();
            status["scrub"].is_null() && !report.is_null()
        });
        let fine = report["complete"] == true && report["mismatches"] == 0 && report["unreadable"] == 0;
        assert!(fine, "what was rebuilt is wrong: {report:#}");
    }

    fn until(&self, mut holds: impl FnMut(&Value) -> bool) {
        while !holds(&self.command(&Request::Status)) {
            std::thread::sleep(LOOK);
        }
    }

    fn command(&self, request: &Request) -> Value {
        control::call(&self.control, request).expect("the server answers").ok
    }

    /// Stops the server.
    pub(crate) fn stop(self) {
        self.stopper.request_stop();
        self.thread.join().expect("the server does not panic").expect("the server ends well");
    }
}
