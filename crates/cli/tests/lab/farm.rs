//! An array on disks with faults on command, served in the lab.

use serde_json::Value;

use super::disk::Disk;
use super::host::{Client, Host, Written};
use crate::common::{Served, Workbench};
use crate::tools::{Array, json, until};

/// Enough for the metadata and some MiB of data.
const MEBIBYTES: u64 = 16;

/// The disks, the array on the first of them, and its server.
pub(crate) struct Farm {
    // The fields are dropped in this order: the server before its members.
    served: Option<Served>,
    bench: Workbench,
    /// The disks by the members' slots.
    pub(crate) disks: Vec<Disk>,
}

impl Farm {
    /// Makes an array with this number of disks.
    pub(crate) fn new(organization: &str, members: usize) -> Farm {
        let bench = Workbench::new();
        let mut farm = Farm { served: None, bench, disks: Vec::new() };
        (0..members).for_each(|_| farm.add_disk());
        farm.bench.succeed(&format!("create -o {organization} {}", farm.paths()));
        farm
    }

    /// Adds a disk that is not a member.
    pub(crate) fn add_disk(&mut self) {
        let name = format!("disk{}", self.disks.len());
        self.disks.push(Disk::new(&self.bench, &name, MEBIBYTES));
    }

    fn paths(&self) -> String {
        words(self.disks.iter())
    }

    /// Serves the array from all existing disks, with further options.
    pub(crate) fn serve(&mut self, options: &str) {
        self.serve_from(&self.paths(), options);
    }

    /// Serves the array from all existing disks but one.
    pub(crate) fn serve_without(&mut self, slot: usize) {
        self.serve_from(&words(self.others(slot)), "");
    }

    fn serve_from(&mut self, paths: &str, options: &str) {
        let command = format!("serve {paths} --unix nbd.sock --json {options}");
        self.served = Some(self.bench.serve(&command));
    }

    fn others(&self, slot: usize) -> impl Iterator<Item = &Disk> {
        self.disks.iter().enumerate().filter(move |(other, _)| *other != slot).map(|(_, disk)| disk)
    }

    pub(crate) fn bench(&self) -> &Workbench {
        &self.bench
    }

    /// Sends a command to the server, which must succeed.
    pub(crate) fn ask(&self, command: &str) -> String {
        self.bench.succeed(&format!("{command} -a {}", self.disks[0].path().display()))
    }

    pub(crate) fn status(&self) -> Value {
        json(&self.bench.succeed(&format!("status {} --json", self.disks[0].path().display())))
    }

    /// Waits until the status meets the condition.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(what, || Some(self.status()).filter(|status| is_so(status)))
    }

    /// Waits until the member in a slot is excluded, and returns the events.
    pub(crate) fn until_failed(&self, place: usize) -> String {
        let is_failed = |status: &Value| Array::state(status, place) == "failed";
        let status = self.until("the member is excluded", is_failed);
        assert_eq!(status["lost"], false, "{status}");
        status["events"].to_string()
    }

    /// Waits until every slot has an active member, and no rebuild or resync is under way.
    pub(crate) fn until_whole(&self) {
        self.until("the array is whole", |status| {
            let mut members = status["members"].as_array().expect("there are members").iter();
            let idle = status["rebuild"].is_null() && status["resync"].is_null();
            idle && members.all(|member| member["state"] == "active")
        });
    }

    /// Connects a client.
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.bench.path("nbd.sock"))
    }

    /// Writes the whole array.
    pub(crate) fn fill(&self) -> Written {
        let capacity = self.status()["capacity"].as_u64().expect("the capacity is told");
        let mut written = Written::none(capacity);
        written.write_each(1, &mut self.client());
        written
    }

    /// Starts a host that writes continuously.
    pub(crate) fn host(&self, written: Written) -> Host {
        Host::start(self.client(), written)
    }

    /// Checks that the array reads as it was written.
    pub(crate) fn verify(&self, written: &Written) {
        written.verify(&mut self.client());
    }

    /// Scrubs. Returns the numbers of mismatches and of unreadable blocks.
    pub(crate) fn scrub(&self) -> (u64, u64) {
        let scrub = format!("scrub --json -a {}", self.disks[0].path().display());
        let report = json(&self.bench.run(&scrub).out);
        assert_eq!(
            (&report["complete"], &report["skipped"]),
            (&Value::Bool(true), &Value::from(0)),
            "{report}"
        );
        let number = |key: &str| report[key].as_u64().expect("a number");
        assert!(number("stripes") > 0, "{report}");
        (number("mismatches"), number("unreadable"))
    }

    /// The errors of each member, by slot.
    pub(crate) fn errors(&self) -> Vec<u64> {
        let status = self.status();
        let members = status["members"].as_array().expect("there are members").iter();
        members.map(|member| member["errors"].as_u64().expect("a number")).collect()
    }

    /// Stops the server with its command, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        ended_well(self.stopped());
    }

    /// Stops the server with its command while the disk in a slot hangs, and waits until it has
    /// closed the other disks. The kernel keeps the process until the disk answers.
    pub(crate) fn let_go_beside(&mut self, hung: usize) -> Served {
        let served = self.stopped();
        self.others(hung).for_each(Disk::until_closed);
        served
    }

    fn stopped(&mut self) -> Served {
        self.ask("stop");
        self.served.take().expect("it is served")
    }
}

/// Waits until the server has ended, without an error. Returns its standard error output.
pub(crate) fn ended_well(served: Served) -> String {
    let (status, told) = served.end();
    assert!(status.success() && !told.contains("panicked"), "{status}: {told}");
    told
}

fn words<'a>(disks: impl Iterator<Item = &'a Disk>) -> String {
    disks.map(|disk| disk.path().display().to_string()).collect::<Vec<_>>().join(" ")
}
