//! Copies of the workspace below the target directory, in which sources are changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, CommandError};
use crate::workspace::root;

/// Why a copy could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// git could not be asked for the workspace's files.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A file or directory cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Unusable { path: PathBuf, source: io::Error },
}

/// A file of the workspace.
pub(crate) enum Entry {
    Content(Vec<u8>),
    /// A symbolic link with its aim.
    Link(PathBuf),
}

/// Files by their paths below the workspace's root.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// All files of the workspace, except those that git ignores.
pub(crate) fn entries() -> Result<Entries, CopyError> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let said = command::read(&mut list)?;
    let mut entries = Entries::new();
    for name in said.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name).into_owned();
        let path = root().join(&name);
        if path.is_symlink() {
            entries.insert(name, Entry::Link(fs::read_link(&path).map_err(unusable(&path))?));
        } else if path.is_file() {
            // A removed file is listed by git until its removal is committed.
            entries.insert(name, Entry::Content(fs::read(&path).map_err(unusable(&path))?));
        }
    }
    Ok(entries)
}

/// Makes `folder` contain these files and no others. Only files that differ are written, so that
/// cargo builds only what has changed.
pub(crate) fn write(folder: &Path, entries: &Entries) -> Result<(), CopyError> {
    for path in if folder.is_dir() { files_below(folder)? } else { Vec::new() } {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        let stays = match entries.get(&name) {
            Some(Entry::Content(_)) => !path.is_symlink(),
            Some(Entry::Link(aim)) => fs::read_link(&path).is_ok_and(|there| there == *aim),
            None => false,
        };
        if !stays {
            fs::remove_file(&path).map_err(unusable(&path))?;
        }
    }
    for (name, entry) in entries {
        let path = folder.join(name);
        match entry {
            Entry::Content(content) => put(&path, content)?,
            Entry::Link(aim) if !path.is_symlink() => {
                make_folder_of(&path)?;
                symlink(aim, &path).map_err(unusable(&path))?;
            }
            Entry::Link(_) => {}
        }
    }
    Ok(())
}

/// Writes a file, if its content differs.
pub(crate) fn put(path: &Path, content: &[u8]) -> Result<(), CopyError> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    make_folder_of(path)?;
    fs::write(path, content).map_err(unusable(path))
}

/// The files and links in and below `folder`.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, CopyError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable(folder))? {
        let path = entry.map_err(unusable(folder))?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_below(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn make_folder_of(path: &Path) -> Result<(), CopyError> {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).map_err(unusable(folder))
}

/// Makes the error for a path that cannot be used.
fn unusable(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Unusable { path, source }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn entries(files: &[(&str, &str)], links: &[(&str, &str)]) -> Entries {
        let files = files.iter().map(|(name, text)| (name, Entry::Content(text.as_bytes().to_vec())));
        let links = links.iter().map(|(name, aim)| (name, Entry::Link(aim.into())));
        files.chain(links).map(|(name, entry)| ((*name).to_owned(), entry)).collect()
    }

    #[test]
    fn a_copy_contains_what_it_should_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let before = entries(&[("a/one", "1"), ("a/gone", "2"), ("three", "3")], &[("link", "a/one")]);
        write(folder.path(), &before).unwrap();
        assert_eq!((text("a/one"), text("link")), ("1".to_owned(), "1".to_owned()));
        let after = entries(&[("a/one", "1"), ("link", "4")], &[("three", "a/one")]);
        write(folder.path(), &after).unwrap();
        assert_eq!((text("a/one"), text("link"), text("three")), ("1".into(), "4".into(), "1".into()));
        assert!(!folder.path().join("link").is_symlink() && !folder.path().join("a/gone").exists());
    }

    #[test]
    fn only_what_differs_is_written() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &entries(&[("same", "1"), ("other", "2")], &[])).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3_600);
        for name in ["same", "other"] {
            let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        write(folder.path(), &entries(&[("same", "1"), ("other", "3")], &[])).unwrap();
        let age = |name: &str| fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
        assert!(age("same") == long_ago && age("other") > long_ago);
    }
}
