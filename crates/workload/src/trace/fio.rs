//! fio's iolog: version 2 (`FILE ACTION OFFSET LENGTH`), and version 3, with microseconds before
//! that.
//!
//! In version 2 the action `wait` has a time. fio treats it as milliseconds since the beginning of
//! the log, whatever its documentation says, and so does this reader.

use parlour_units::Duration;

use super::line::{Line, Recorded, What, number, sectors, time};

/// The header of a log, and the files that were named so far.
#[derive(Debug, Default)]
pub(super) struct Head {
    version: Option<u32>,
    files: Vec<String>,
    /// For version 2: the time of the last `wait`.
    waited: Option<Duration>,
}

impl Head {
    pub(super) fn line(&mut self, text: &str) -> Result<Line, String> {
        let Some(version) = self.version else {
            self.version = Some(version(text)?);
            return Ok(Line::Nothing);
        };
        let mut words = text.split_whitespace();
        let at = match version {
            2 => self.waited,
            _ => Some(time(words.next().unwrap_or_default(), 1e3)?),
        };
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(_), Some("open" | "close"), None, None) => Ok(Line::Nothing),
            (Some(file), Some("add"), None, None) => {
                self.file(file);
                Ok(Line::Nothing)
            }
            (Some(_), Some("wait"), Some(until), Some(_)) if version == 2 => {
                // A time in the past has no effect.
                self.waited = self.waited.max(Some(time(until, 1e6)?));
                Ok(Line::Nothing)
            }
            (Some(file), Some(action), Some(offset), Some(length)) => {
                self.request(at, file, action, (offset, length))
            }
            _ => Err("a line is `FILE ACTION`, or `FILE ACTION OFFSET LENGTH`".to_owned()),
        }
    }

    fn request(
        &mut self,
        at: Option<Duration>,
        file: &str,
        action: &str,
        (offset, length): (&str, &str),
    ) -> Result<Line, String> {
        let device = self.file(file);
        let area = || sectors(number(offset, "offset")?, number(length, "length")?);
        let what = match action {
            "read" => area().map(|(first, length)| What::Read(first, length))?,
            "write" => area().map(|(first, length)| What::Write(first, length))?,
            "trim" => area().map(|(first, length)| What::Trim(first, length))?,
            "sync" | "datasync" => What::Flush,
            // It starts writing, but makes nothing durable.
            "sync_file_range" => return Ok(Line::Nothing),
            "wait" => return Err("only an iolog of version 2 waits".to_owned()),
            other => return Err(format!("'{other}' is no action of an iolog")),
        };
        Ok(Line::Request(Recorded { at, device, what }))
    }

    /// The number of a file.
    fn file(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        });
        index as u32
    }
}

fn version(text: &str) -> Result<u32, String> {
    let version = text.trim().strip_prefix("fio version ").and_then(|rest| rest.strip_suffix(" iolog"));
    match version.and_then(|version| version.parse().ok()) {
        Some(version @ 2..=3) => Ok(version),
        Some(version) => Err(format!("iologs of version {version} are not known; 2 and 3 are")),
        None => Err("an iolog begins with `fio version 2 iolog`, or 3".to_owned()),
    }
}
