//! Opens a URL in the browser of the user.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time within which a command that cannot open the URL says so. One that opens a browser may run as long as the
/// browser.
const FAILS_WITHIN: Duration = Duration::from_secs(2);

/// Opens URLs.
pub trait Browser: Send + Sync + 'static {
    /// Opens this URL. May block for some seconds.
    ///
    /// # Errors
    /// If there is no browser.
    fn open(&self, url: &str) -> io::Result<()>;
}

/// The browser that the desktop is configured for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

impl Browser for SystemBrowser {
    fn open(&self, url: &str) -> io::Result<()> {
        if cfg!(all(unix, not(target_os = "macos"))) && !has_display() {
            return Err(io::Error::other("there is no display"));
        }
        let (program, args) = opener();
        // No shell reads the URL, and its first characters are `https`: it cannot become an option. The standard
        // streams may belong to a protocol.
        let mut command = Command::new(program);
        command.args(args).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        watch(child, program)
    }
}

/// Waits for a quick failure, and leaves everything else to a thread.
fn watch(mut child: Child, program: &str) -> io::Result<()> {
    let deadline = Instant::now() + FAILS_WITHIN;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(format!("{program}: {status}"))),
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            None => break,
        }
    }
    // Its status is collected, because it would otherwise stay in the process table.
    thread::Builder::new().name("browser".to_owned()).spawn(move || drop(child.wait()))?;
    Ok(())
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The command that opens a URL, and its arguments.
fn opener() -> (&'static str, &'static [&'static str]) {
    if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        // Not `cmd /c start`, which would interpret the URL.
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    }
}
