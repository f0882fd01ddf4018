//! Running other programs in sight of the reader.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It is missing, or may not be run.
    #[error("cannot run `{line}`: {source}")]
    NotStarted { line: String, source: io::Error },
    /// It ran, and what it said is gone.
    #[error("cannot read what `{line}` said: {source}")]
    LogUnread { line: String, source: io::Error },
    /// It ran and failed.
    #[error("`{line}` failed: {status}")]
    Failed { line: String, status: ExitStatus },
}

/// Prints the command line, runs it, and lets it write to this terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), CommandError> {
    let line = line_of(command);
    eprintln!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::Failed { line, status }),
        Err(source) => Err(CommandError::NotStarted { line, source }),
    }
}

/// Runs the command and keeps what it says in the file `log`.
pub(crate) fn run_quietly(command: &mut Command, log: &Path) -> Result<(), CommandError> {
    let line = line_of(command);
    let not_started = |source| CommandError::NotStarted { line: line.clone(), source };
    let file = File::create(log).map_err(not_started)?;
    let also = file.try_clone().map_err(not_started)?;
    match command.stdin(Stdio::null()).stdout(file).stderr(also).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::Failed { line, status }),
        Err(source) => Err(CommandError::NotStarted { line, source }),
    }
}

/// Runs the command and gives what it says to its standard output; its complaints go to this
/// terminal.
pub(crate) fn read(command: &mut Command) -> Result<Vec<u8>, CommandError> {
    let line = line_of(command);
    match command.stdin(Stdio::null()).stderr(Stdio::inherit()).output() {
        Ok(said) if said.status.success() => Ok(said.stdout),
        Ok(said) => Err(CommandError::Failed { line, status: said.status }),
        Err(source) => Err(CommandError::NotStarted { line, source }),
    }
}

/// Prints what a command said that was run quietly, as if it had run here and now.
pub(crate) fn show(command: &Command, log: &Path) -> Result<(), CommandError> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let copied = File::open(log).and_then(|mut said| io::copy(&mut said, &mut io::stderr()));
    copied.map(drop).map_err(|source| CommandError::LogUnread { line, source })
}

/// The command as one would type it; a program given by its full path is shown by its name.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_typed() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["test", "--workspace"]);
        assert_eq!(line_of(&command), "cargo test --workspace");
    }

    #[test]
    fn what_a_program_says_is_read() {
        assert_eq!(read(Command::new("echo").arg("said")).unwrap(), b"said\n");
        assert!(read(&mut Command::new("false")).is_err());
    }

    #[test]
    fn a_failing_program_is_named() {
        let error = run(&mut Command::new("false")).unwrap_err();
        assert!(error.to_string().starts_with("`false` failed"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(error.to_string().starts_with("cannot run `no-such-program`"), "{error}");
    }
}
