//! `parlour create`: makes an array out of files and devices.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::{CreateError, CreateReport, CreateRequest, MemberError};
use parlour_units::Bytes;
use serde::Serialize;

use crate::console::{Console, note};
use crate::failure::Failure;
use crate::settings::{ConfigFile, LogSettings, OrganizationSettings, Size};
use crate::wording::sentence;

/// Create an array out of files and block devices
///
/// Nothing is written if a member is in use, or holds a file system or another array's data (unless
/// --force says to lose that). Members that are not all zero are synced in the background once the
/// array is served.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Files or block devices, in the order of their slots
    #[arg(value_name = "MEMBER")]
    members: Vec<PathBuf>,
    /// A file or block device that takes the entries of the journal instead of the members, such as
    /// a solid-state device beside large disks; give it once for each, at least two (one more than
    /// may be lost; one is enough with --write-back 0 or --journal-copies 1). More can be added
    /// while the array is served
    #[arg(long = "journal", value_name = "DEVICE")]
    journals: Vec<PathBuf>,
    /// Make members that do not exist: sparse files of this size. (A journal device is made as long
    /// as it needs to be.)
    #[arg(long, short = 's', value_name = "SIZE")]
    size: Option<Size>,
    /// The array's name
    #[arg(long, value_name = "NAME", default_value = "parlour")]
    name: String,
    /// Overwrite what is on the members
    #[arg(long)]
    force: bool,
    /// Take what options leave open from this TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    organization: OrganizationSettings,
    #[command(flatten)]
    log: LogSettings,
}

/// The answer: the new array.
#[derive(Serialize)]
struct Created<'a> {
    name: &'a str,
    array: String,
    organization: &'static str,
    consistency: &'static str,
    members: u16,
    journals: usize,
    capacity: Bytes,
    stripe_unit: Bytes,
    block: Bytes,
    /// Whether the check units fit from the start. If not, they are resynced while the array is
    /// served.
    in_sync: bool,
    notes: &'a [String],
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let file = ConfigFile::load(options.config.as_deref())?;
    let members = if options.members.is_empty() { file.members } else { options.members.clone() };
    let journals = if options.journals.is_empty() { file.journals } else { options.journals.clone() };
    if members.is_empty() {
        return Err(Failure::NoMembers("create"));
    }
    let settings = options.organization.clone().or(file.array);
    let log = options.log.clone().or(file.log);
    let asked = request((members, journals), &settings, &log, options.size, &options.name)?;
    let request = CreateRequest { force: options.force, ..asked };
    let report = parlour_engine::create(&request).map_err(|error| failure(error, options.size))?;
    report.notes.iter().for_each(|line| note(line));
    let journals = request.journals.len();
    console.answer(&created(&options.name, journals, &report), || text(&options.name, journals, &report))?;
    Ok(())
}

/// The failure of a creation. For a missing member it names the option that makes it.
fn failure(error: CreateError, size: Option<Size>) -> Failure {
    match error {
        CreateError::Member(MemberError::Missing { path }) if size.is_none() => {
            Failure::MissingMember { path }
        }
        CreateError::Member(MemberError::InUse { path }) => {
            Failure::in_use(&path, &path, CreateError::Member(MemberError::InUse { path: path.clone() }))
        }
        error => error.into(),
    }
}

/// The request for the engine, for these members and journal devices.
///
/// # Errors
/// The settings do not go together.
pub(crate) fn request(
    (members, journals): (Vec<PathBuf>, Vec<PathBuf>),
    settings: &OrganizationSettings,
    log: &LogSettings,
    size: Option<Size>,
    name: &str,
) -> Result<CreateRequest, Failure> {
    settings.note().iter().for_each(|line| note(line));
    let organization = settings.organization()?;
    let count = u16::try_from(members.len()).unwrap_or(u16::MAX);
    Ok(CreateRequest {
        organization,
        checks: settings.checks(count)?,
        groups: settings.groups(),
        width: settings.width,
        domains: settings.domains,
        spares: settings.spares(),
        unit: settings.unit().bytes(),
        block: settings.block.map(Size::bytes),
        log: log.creation(organization.is_logged())?,
        consistency: settings.consistency()?,
        name: name.to_owned(),
        size: size.map(Size::bytes),
        force: false,
        members,
        journals,
    })
}

fn created<'a>(name: &'a str, journals: usize, report: &'a CreateReport) -> Created<'a> {
    let geometry = &report.geometry;
    Created {
        name,
        array: report.array.to_string(),
        organization: geometry.stored().organization_name(),
        consistency: geometry.consistency().name(),
        members: geometry.members(),
        journals,
        capacity: geometry.capacity().bytes(),
        stripe_unit: geometry.layout().unit_length().bytes(),
        block: geometry.block().bytes(),
        in_sync: is_in_sync(report),
        notes: &report.notes,
    }
}

fn text(name: &str, journals: usize, report: &CreateReport) -> String {
    let sync = match is_in_sync(report) {
        true => "",
        false => {
            "Its members are not all zero: its redundancy is synced in the background once it is served.\n"
        }
    };
    format!("Created the array '{name}': {}\n{sync}", sentence(&report.geometry, journals))
}

fn is_in_sync(report: &CreateReport) -> bool {
    report.zeroed || report.geometry.fault_tolerance() == 0
}
