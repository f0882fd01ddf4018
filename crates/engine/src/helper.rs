//! Helper threads of the server. The server waits for their results.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread. A panic in it aborts the process: the thread's work would never be answered,
/// and the server would wait for it forever. The array recovers as after any crash.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(move || {
        let _guard = AbortOnPanic;
        work();
    })
}

struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("a helper");
            eprintln!(
                "thread '{name}' panicked: the process is aborted, because what the thread was doing would never be \
                 answered; serve the array again"
            );
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// Set in the process that is to be aborted.
    const CHILD: &str = "PARLOUR_TEST_HELPER_PANICS";

    #[test]
    fn a_panic_in_a_helper_thread_aborts_the_process_and_says_so() {
        if std::env::var_os(CHILD).is_some() {
            let thread = super::spawn("member-io-7", || panic!("as the test wants")).expect("it starts");
            // Without the abort the child process would continue, and the test in it would succeed.
            let _ = thread.join();
            return;
        }
        let name = "helper::tests::a_panic_in_a_helper_thread_aborts_the_process_and_says_so";
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
        let output = command.output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(6), "{told}");
        assert!(told.contains("thread 'member-io-7' panicked: the process is aborted"), "{told}");
    }
}
