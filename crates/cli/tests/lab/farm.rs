//! An array on disks that do as they are told, served in the lab.

use serde_json::Value;

use super::disk::Disk;
use super::host::{Client, Host, Written};
use crate::common::{Served, Workbench};
use crate::tools::{Array, json, until};

/// Enough for the metadata and some MiB of data.
const MEBIBYTES: u64 = 16;

/// Disks, the array on the first of them, and its server.
pub(crate) struct Farm {
    // Dropped in this order: the server before its members.
    served: Option<Served>,
    bench: Workbench,
    /// By the members' numbers.
    pub(crate) disks: Vec<Disk>,
}

impl Farm {
    /// Makes an array of so many disks.
    pub(crate) fn new(organization: &str, members: usize) -> Farm {
        let bench = Workbench::new();
        let mut farm = Farm { served: None, bench, disks: Vec::new() };
        (0..members).for_each(|_| farm.add_disk());
        farm.bench.succeed(&format!("create -o {organization} {}", farm.paths()));
        farm
    }

    /// A further disk, which is no member.
    pub(crate) fn add_disk(&mut self) {
        let name = format!("disk{}", self.disks.len());
        self.disks.push(Disk::new(&self.bench, &name, MEBIBYTES));
    }

    fn paths(&self) -> String {
        let paths = self.disks.iter().map(|disk| disk.path().display().to_string());
        paths.collect::<Vec<_>>().join(" ")
    }

    /// Serves it from all disks that there are, with further options.
    pub(crate) fn serve(&mut self, options: &str) {
        let command = format!("serve {} --unix nbd.sock --json {options}", self.paths());
        self.served = Some(self.bench.serve(&command));
    }

    pub(crate) fn bench(&self) -> &Workbench {
        &self.bench
    }

    /// Asks the server for something, which is to succeed.
    pub(crate) fn ask(&self, command: &str) -> String {
        self.bench.succeed(&format!("{command} -a {}", self.disks[0].path().display()))
    }

    pub(crate) fn status(&self) -> Value {
        json(&self.bench.succeed(&format!("status {} --json", self.disks[0].path().display())))
    }

    /// Waits until the status is as `what` says.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(what, || Some(self.status()).filter(|status| is_so(status)))
    }

    /// Waits until the member in a place is excluded, and returns what is said of that.
    pub(crate) fn until_failed(&self, place: usize) -> String {
        let is_failed = |status: &Value| Array::state(status, place) == "failed";
        let status = self.until("the member is excluded", is_failed);
        assert_eq!(status["lost"], false, "{status}");
        status["events"].to_string()
    }

    /// Waits until every place has an active member and nothing is rebuilt or resynced.
    pub(crate) fn until_whole(&self) {
        self.until("the array is whole", |status| {
            let mut members = status["members"].as_array().expect("there are members").iter();
            let idle = status["rebuild"].is_null() && status["resync"].is_null();
            idle && members.all(|member| member["state"] == "active")
        });
    }

    /// Connects.
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.bench.path("nbd.sock"))
    }

    /// Writes all of the array.
    pub(crate) fn fill(&self) -> Written {
        let capacity = self.status()["capacity"].as_u64().expect("the capacity is told");
        let mut written = Written::none(capacity);
        written.write_each(1, &mut self.client());
        written
    }

    /// A host that goes on writing.
    pub(crate) fn host(&self, written: Written) -> Host {
        Host::start(self.client(), written)
    }

    /// The array reads as it was written.
    pub(crate) fn verify(&self, written: &Written) {
        written.verify(&mut self.client());
    }

    /// Compares all redundancy. Says how many mismatches there are, and how many blocks cannot be
    /// read.
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

    /// Errors of the members, by place.
    pub(crate) fn errors(&self) -> Vec<u64> {
        let status = self.status();
        let members = status["members"].as_array().expect("there are members").iter();
        members.map(|member| member["errors"].as_u64().expect("a number")).collect()
    }

    /// Stops the server by its command, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        let served = self.served.take().expect("it is served");
        self.ask("stop");
        let (status, told) = served.end();
        assert!(status.success() && !told.contains("panicked"), "{status}: {told}");
    }
}
