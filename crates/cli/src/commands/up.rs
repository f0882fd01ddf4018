//! `parlour up`: makes an array out of files in one directory and serves it, with defaults for
//! everything.

use std::path::{Path, PathBuf};

use clap::Args;
use parlour_engine::OpenRequest;

use super::create;
use crate::arrival::await_members;
use crate::console::{Console, note};
use crate::failure::Failure;
use crate::members::{Looks, MembersError};
use crate::serve::{Service, Serving, attach};
use crate::settings::{
    Address, LogSettings, OrganizationSettings, ServingSettings, Size, TimeoutSettings, TuningSettings,
};

/// Make an array out of files in ./parlour-data and serve it
///
/// Needs no root and no arguments. The first time it makes five sparse files of 1 GiB and a
/// parity-logging array of them; run again, it brings the same array back with its data. Serves on
/// nbd.sock in that directory, which only you may use, unless options let others in. Stops cleanly
/// on Ctrl-C, and when the terminal is closed.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Where the array's files are
    #[arg(long, value_name = "DIRECTORY", default_value = "parlour-data")]
    dir: PathBuf,
    /// How many members to make [default: 5]
    #[arg(long, short = 'm', value_name = "COUNT")]
    members: Option<u16>,
    /// How large to make them [default: 1GiB]
    #[arg(long, short = 's', value_name = "SIZE")]
    size: Option<Size>,
    /// A file or block device that takes the entries of the journal instead of the members; give
    /// it once for each, at least two, and each time
    #[arg(long = "journal", value_name = "DEVICE")]
    journals: Vec<PathBuf>,
    #[command(flatten)]
    organization: OrganizationSettings,
    #[command(flatten)]
    log: LogSettings,
    #[command(flatten)]
    serving: ServingSettings,
    #[command(flatten)]
    timeouts: TimeoutSettings,
    #[command(flatten)]
    tuning: TuningSettings,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let tuning = options.tuning.tuning()?;
    let mut named = vec![options.dir.clone()];
    if options.dir.is_dir() {
        // (Those in the directory are found there.)
        let directory = options.dir.canonicalize().ok();
        let inside =
            |path: &&PathBuf| path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
        named.extend(options.journals.iter().filter(|path| inside(path) != directory).cloned());
    }
    let named = &named[..];
    let looks = Looks::new(options.timeouts.access_timeout());
    let members = match await_members(named, options.timeouts.wait(), &looks, console) {
        Ok(members) if options.dir.is_dir() => {
            note_ignored(options);
            members
        }
        // If the directory does not exist or has no member, a new array is made.
        Err(MembersError::EmptyDirectory { .. }) | Ok(_) => make(options)?,
        Err(error) => return Err(error.into()),
    };
    let settings = &options.serving;
    let io = settings.io.map(Into::into).unwrap_or_default();
    let access_timeout = options.timeouts.access_timeout();
    let request =
        OpenRequest { members, read_only: false, force: false, tuning, io, access_timeout, recorded: false };
    let open = parlour_engine::open(&request).map_err(|error| Failure::opening(error, Some(&options.dir)))?;
    let any_port = settings.tcp.is_some_and(Address::is_usual);
    let (timeouts, directory) = (&options.timeouts, Some(options.dir.as_path()));
    let serving = Serving { settings, timeouts, named, directory, read_only: false, any_port };
    Ok(Service::new(open, &serving)?.run(console, |served| attach::text(served, &options.dir))?)
}

/// Whether options for a new array are given.
fn describe_an_array(options: &Options) -> bool {
    options.members.is_some()
        || options.size.is_some()
        || options.organization != OrganizationSettings::default()
        || options.log != LogSettings::default()
}

/// Prints a note if options for a new array are given but the array exists.
fn note_ignored(options: &Options) {
    if describe_an_array(options) {
        let directory = options.dir.display();
        note(&format_args!(
            "{directory}: there is an array already, which stays as it is; use another --dir for a new one"
        ));
    }
}

/// Makes the array's files and the array. Returns its members.
fn make(options: &Options) -> Result<Vec<PathBuf>, Failure> {
    let made = !options.dir.exists();
    std::fs::create_dir_all(&options.dir)
        .map_err(|source| Failure::Directory { path: options.dir.clone(), source })?;
    let devices = (member_paths(&options.dir, options.members.unwrap_or(5)), options.journals.clone());
    let size = options.size.unwrap_or_else(|| "1GiB".parse().expect("the default is a size"));
    let created =
        create::request(devices.clone(), &options.organization, &options.log, Some(size), "parlour")
            .and_then(|request| Ok(parlour_engine::create(&request)?));
    match created {
        Ok(report) => report.notes.iter().for_each(|line| note(line)),
        Err(failure) => {
            if made {
                // Only an empty directory is removed, so that a refused creation leaves nothing
                // behind.
                let _ = std::fs::remove_dir(&options.dir);
            }
            return Err(failure);
        }
    }
    let (members, journals) = devices;
    Ok(members.into_iter().chain(journals).collect())
}

fn member_paths(directory: &Path, count: u16) -> Vec<PathBuf> {
    (0..count).map(|place| directory.join(format!("member{place}"))).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Up {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn options_that_an_existing_array_ignores_are_known() {
        let describe = |arguments: &[&str]| {
            let all = ["up"].iter().chain(arguments);
            describe_an_array(&Up::parse_from(all).options)
        };
        for ignored in
            ["--size=1GiB", "--write-back=0", "--journal-lanes=2", "--groups=2", "--consistency=bitmap"]
        {
            assert!(describe(&[ignored]), "{ignored}");
        }
        assert!(!describe(&["--dir=there"]));
        assert!(!describe(&["--destage-depth=4", "--journal=device"]));
    }
}
