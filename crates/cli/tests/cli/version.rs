//! Tests that the version names the commit from which the program was built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Workbench;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn the_version_is_the_packages_and_a_commit() {
    let said = Workbench::new().succeed("--version");
    let said = said.strip_prefix(&format!("parlour {VERSION}")).expect("that of the package").trim_end();
    // A build from an archive has no commit.
    if let Some(commit) = said.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')) {
        let commit = commit.trim_end_matches("-dirty");
        assert!(commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    } else {
        assert_eq!(said, "");
    }
}

/// A project with `build.rs` that only prints the version.
struct Project {
    root: PathBuf,
}

impl Project {
    /// The project as in an archive.
    fn unpacked(root: PathBuf) -> Project {
        let project = Project { root };
        fs::create_dir_all(project.package().join("src")).expect("a directory");
        project.write(
            "Cargo.toml",
            "[package]\nname = \"parlour\"\nversion = \"1.2.3\"\nedition = \"2024\"\n[workspace]\n",
        );
        project.write("build.rs", include_str!("../../build.rs"));
        project.write("src/main.rs", MAIN);
        project
    }

    /// The project as a repository with one commit.
    fn cloned(root: PathBuf) -> Project {
        let project = Project::unpacked(root);
        project.git("init --quiet --initial-branch main");
        project.git("add crates");
        project.commit();
        project
    }

    fn package(&self) -> PathBuf {
        self.root.join("crates/cli")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.package().join(name), text).expect("a file");
    }

    /// The program's output, after a build of what cargo considers changed.
    fn version(&self) -> String {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut run = Command::new(cargo);
        run.args(["run", "--quiet", "--offline"]).env("CARGO_TARGET_DIR", self.root.join("target"));
        said(&mut run, &self.package())
    }

    /// The expected output.
    fn expected(&self, behind: &str) -> String {
        format!("1.2.3 ({}{behind})", &self.git("rev-parse HEAD")[..12])
    }

    fn commit(&self) {
        self.git("commit --quiet --allow-empty --message one-more");
    }

    fn git(&self, arguments: &str) -> String {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=nobody",
            "-c",
            "user.email=nobody@localhost",
            "-c",
            "commit.gpgsign=false",
        ]);
        said(git.args(arguments.split(' ')), &self.root)
    }
}

const MAIN: &str = "fn main() { println!(\"{}\", env!(\"PARLOUR_VERSION\")) }\n";

/// The output of a command, which must succeed.
fn said(command: &mut Command, directory: &Path) -> String {
    let output = command.current_dir(directory).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

#[test]
fn the_version_follows_what_is_checked_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = Project::cloned(directory.path().join("project"));
    let first = project.version();
    assert_eq!(first, project.expected(""));
    project.commit();
    assert_eq!(project.version(), project.expected(""));
    assert_ne!(project.version(), first);

    project.write("src/main.rs", &format!("// Changed.\n{MAIN}"));
    assert_eq!(project.version(), project.expected("-dirty"));
    project.git("checkout --quiet crates/cli/src/main.rs");
    assert_eq!(project.version(), project.expected(""));

    project.git("pack-refs --all");
    assert_eq!(project.version(), project.expected(""));
    project.commit();
    assert_eq!(project.version(), project.expected(""));

    project.git("checkout --quiet --detach HEAD~1");
    assert_eq!(project.version(), project.expected(""));
}

#[test]
fn a_worktree_has_a_commit_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = Project::cloned(directory.path().join("project"));
    project.git("worktree add --quiet -b other ../worktree");
    let worktree = Project { root: directory.path().join("worktree") };
    assert_eq!(worktree.version(), worktree.expected(""));
    worktree.commit();
    assert_eq!(worktree.version(), worktree.expected(""));
    assert_ne!(worktree.version(), project.version());
}

#[test]
fn an_archive_has_no_commit_also_within_another_project() {
    let directory = tempfile::tempdir().expect("a directory");
    let archive = Project::unpacked(directory.path().join("archive"));
    assert_eq!(archive.version(), "1.2.3");
    let other = Project::cloned(directory.path().join("other"));
    let archive = Project::unpacked(other.root.join("archive"));
    assert_eq!(archive.version(), "1.2.3");
}
