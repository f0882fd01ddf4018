//! Runs other programs, and shows their command lines.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Why a program did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The program does not exist, or cannot be executed.
    #[error("cannot run `{line}`: {source}")]
    NotStarted { line: String, source: io::Error },
    /// The program ran, but its output cannot be read.
    #[error("cannot read what `{line}` said: {source}")]
    LogUnread { line: String, source: io::Error },
    /// The program ran and failed.
    #[error("`{line}` failed: {status}")]
    Failed { line: String, status: ExitStatus },
}

/// Prints the command line, and runs it with its output on this terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), CommandError> {
    let line = line_of(command);
    eprintln!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::Failed { line, status }),
        Err(source) => Err(CommandError::NotStarted { line, source }),
    }
}

/// Runs the command, and stores its output in the file `log`.
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

/// Runs the command, and returns its standard output. Its error output goes to this terminal.
pub(crate) fn read(command: &mut Command) -> Result<Vec<u8>, CommandError> {
    let line = line_of(command);
    match command.stdin(Stdio::null()).stderr(Stdio::inherit()).output() {
        Ok(said) if said.status.success() => Ok(said.stdout),
        Ok(said) => Err(CommandError::Failed { line, status: said.status }),
        Err(source) => Err(CommandError::NotStarted { line, source }),
    }
}

/// Prints the stored output of a command that was run quietly, as if the command had just run.
pub(crate) fn show(command: &Command, log: &Path) -> Result<(), CommandError> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let copied = File::open(log).and_then(|mut said| io::copy(&mut said, &mut io::stderr()));
    copied.map(drop).map_err(|source| CommandError::LogUnread { line, source })
}

/// The command line as a user would type it. A program with a full path is shown by its name.
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
