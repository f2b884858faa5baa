//! `pmcp` in the terminal of tmux: keys, sizes and colours as a person has them.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use protomcp_conformance::Sandbox;
use protomcp_testing::eventually;

/// Runs a program, and shows how it has ended and in which mode it has left the terminal. (tmux does not always know the
/// status of a program.) The signals of keys are for the program alone.
const WITH_END: &str = "trap : INT QUIT; ulimit -c 0; \"$0\" \"$@\"; \
    printf 'ended: %s %s\\n' \"$?\" \"$(stty -a | grep -o -- '-*icanon')\"; read -r _";

/// A terminal with a program.
pub(crate) struct Terminal {
    /// The socket of its server.
    socket: PathBuf,
}

impl Terminal {
    /// A terminal without a program. A server that ends does not disturb the next one.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self { socket: sandbox.runtime().join(format!("tmux{}", COUNT.fetch_add(1, Ordering::Relaxed))) }
    }

    /// Starts `pmcp dev` with these words.
    pub(crate) fn start(sandbox: &Sandbox, words: &[&str]) -> Self {
        Self::pmcp(sandbox, &[&["dev"], words].concat())
    }

    /// Starts `pmcp` with these words in a window of 80 columns and 24 rows.
    pub(crate) fn pmcp(sandbox: &Sandbox, words: &[&str]) -> Self {
        let terminal = Self::new(sandbox);
        let pmcp = sandbox.pmcp(words).without("NO_COLOR").command();
        let mut start = terminal.tmux();
        start.args(["-f", "/dev/null", "start-server", ";", "set-option", "-g", "history-limit", "100000", ";"]);
        start.args(["new-session", "-x", "80", "-y", "24", "-d"]);
        for (name, value) in pmcp.get_envs() {
            let value = value.map(|value| value.to_string_lossy()).unwrap_or_default();
            start.arg("-e").arg(format!("{}={value}", name.to_string_lossy()));
        }
        start
            .args(["--", "sh", "-c", WITH_END])
            .arg(pmcp.get_program())
            .args(pmcp.get_args())
            .current_dir(sandbox.path(""));
        run(&mut start);
        terminal
    }

    pub(crate) fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).env("LC_ALL", "C.UTF-8");
        tmux
    }

    /// Types a text.
    pub(crate) fn types(&self, text: &str) {
        run(self.tmux().args(["send-keys", "-l", text]));
    }

    /// Presses a key, in the words of tmux.
    pub(crate) fn press(&self, key: &str) {
        run(self.tmux().args(["send-keys", key]));
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        run(self.tmux().args(["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]));
    }

    /// The lines of the screen, without those that are empty at its end.
    pub(crate) fn screen(&self) -> String {
        run(self.tmux().args(["capture-pane", "-p"])).trim_end().to_owned()
    }

    /// The whole text of the terminal with its colours.
    pub(crate) fn painted(&self) -> String {
        run(self.tmux().args(["capture-pane", "-p", "-e", "-S", "-"]))
    }

    /// Waits for a screen that is as it should be.
    #[track_caller]
    pub(crate) fn shows(&self, what: &str, is_right: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = self.screen();
                is_right(&last).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("{what} is not on the screen:\n{last}"))
    }

    /// Waits for a line that begins like this.
    #[track_caller]
    pub(crate) fn line(&self, start: &str) -> String {
        self.shows(start, |screen| screen.lines().any(|line| line.starts_with(start)))
    }

    /// Waits for the end of the program, and returns its status and the mode of the terminal.
    #[track_caller]
    pub(crate) fn ended(&self) -> String {
        let screen = self.line("ended: ");
        let line = screen.lines().find_map(|line| line.strip_prefix("ended: "));
        line.expect("it was just found").to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The server of this test alone.
        let _gone = self.tmux().arg("kill-server").output();
    }
}

/// Runs a command of tmux, and returns its output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output: Output = command.output().unwrap_or_else(|error| panic!("tmux: {error}; run scripts/setup terminal"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
