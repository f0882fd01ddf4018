//! The init script of the lab's kernel: prepares the system, runs one program, and switches the
//! power off.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The environment variable that tells a program that it runs in the lab.
const IN_LAB: &str = "PARLOUR_LAB";

/// Returns the init script. `folder` is a directory on the host for this boot: the script writes
/// the exit status to its file `status`, which the host reads. Its subdirectory `scratch` holds the
/// guest's memory.
pub(super) fn script(folder: &Path, here: &Path, program: &[OsString]) -> Vec<u8> {
    let words: Vec<Vec<u8>> = program.iter().map(|word| quoted(word)).collect();
    let folder = quoted(folder.as_os_str());
    let here = quoted(here.as_os_str());
    [
        BEGIN.as_bytes(),
        b"folder=",
        &folder,
        b"\nhere=",
        &here,
        MIDDLE.as_bytes(),
        format!("export {IN_LAB}=1\n").as_bytes(),
        &words.join(&b' '),
        END.as_bytes(),
    ]
    .concat()
}

const BEGIN: &str = "#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
";

const MIDDLE: &str = r#"
mount -t proc proc /proc
mount -t sysfs sys /sys
exec </dev/null >/dev/tty0 2>&1
stty -opost </dev/tty0
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs run /run
mkdir "$folder/scratch"
mount -t tmpfs scratch "$folder/scratch"
export TMPDIR="$folder/scratch"
ip link set lo up 2>/dev/null
cd "$here"
"#;

const END: &str = r#"
echo $? >"$folder/status.new"
mv "$folder/status.new" "$folder/status"
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
"#;

/// The word, quoted for the shell.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_quoted_word_is_read_back_as_it_was() {
        for word in ["plain", "two words", "it's", "$HOME `x` \\ \" ;\n", ""] {
            let line = [b"printf %s ".to_vec(), quoted(OsStr::new(word))].concat();
            let line = OsStr::from_bytes(&line);
            let output = Command::new("sh").arg("-c").arg(line).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn the_script_is_one_that_a_shell_reads() {
        let program = ["/bin/it's".into(), "one two".into()];
        let script = script(Path::new("/a folder"), Path::new("/"), &program);
        let script = OsStr::from_bytes(&script);
        let status = Command::new("sh").arg("-n").arg("-c").arg(script).status().unwrap();
        assert!(status.success());
        let text = script.to_str().unwrap();
        assert!(
            text.contains("folder='/a folder'\n") && text.contains(r"'/bin/it'\''s' 'one two'"),
            "{text}"
        );
    }
}
