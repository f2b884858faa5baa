//! The server written with this library for the official suite and the clients, on its own port.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::programs::everything_server;

/// A running `everything_server` that listens on HTTP; dropping it ends it.
#[derive(Debug)]
pub struct Everything {
    child: Child,
    url: String,
}

impl Everything {
    /// Starts it with these options in addition to its port, and waits until it listens.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start(options: &[&str]) -> Self {
        let mut child = Command::new(everything_server())
            .args(options)
            .args(["--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut said = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let line = said.next().expect("the server says where it listens").expect("its words are UTF-8");
        let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("no URL: {line}")).to_owned();
        // Further output must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Self { child, url }
    }

    /// The URL of its MCP endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
