//! An authorization server: keys, tokens and introspection, and the endpoints of the official Python SDK, which this project
//! did not write.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::programs::peers;

/// An authorization server in its own process, which ends when this value is dropped.
#[derive(Debug)]
pub struct Issuer {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    folder: TempDir,
    url: String,
}

impl Issuer {
    /// Starts one on any free port that signs tokens, publishes its keys and answers introspection.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts one that has the endpoints of the SDK as well, where clients register and get tokens. It takes longer to start.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_with_flow() -> Self {
        Self::with(&["flow"])
    }

    /// Like [`Issuer::start`], but it speaks HTTPS, with a certificate signed by [`Issuer::authority`].
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_with_tls() -> Self {
        Self::with(&["tls"])
    }

    fn with(flags: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/issuer.py");
        let mut process = Command::new(peers().join("mcp/bin/python"))
            .arg(script)
            .arg(folder.path())
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the issuer starts");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut issuer = Self { process, stdin, stdout, folder, url: String::new() };
        issuer.url = issuer.line();
        issuer
    }

    /// The issuer identifier.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its keys, as a file.
    pub fn keys(&self) -> PathBuf {
        self.folder.path().join("keys.json")
    }

    /// The certificate of its authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A token with these claims; `alg` sets the signature algorithm for this token and later ones.
    ///
    /// # Panics
    ///
    /// If the issuer has ended.
    pub fn token(&mut self, claims: &Value) -> String {
        let stdin = self.stdin.as_mut().expect("it is open until the end");
        writeln!(stdin, "{claims}").expect("the issuer reads");
        self.line()
    }

    /// Delays replies to key and introspection requests by this time.
    ///
    /// # Panics
    ///
    /// If the issuer has ended.
    pub fn delay(&mut self, time: Duration) {
        self.token(&json!({"delay": time.as_secs_f64()}));
    }

    /// Replaces the key that ES256 signs with.
    ///
    /// # Panics
    ///
    /// If the issuer has ended.
    pub fn rotate(&mut self) {
        self.token(&json!({"rotate": true}));
    }

    /// Revokes an opaque token.
    ///
    /// # Panics
    ///
    /// If the issuer has ended.
    pub fn revoke(&mut self, token: &str) {
        self.token(&json!({"revoke": token}));
    }

    /// The number of key and introspection requests so far.
    ///
    /// # Panics
    ///
    /// If the issuer has ended.
    pub fn asked(&mut self) -> usize {
        self.token(&json!({})).parse().expect("a number")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the issuer writes");
        assert!(line.ends_with('\n'), "the issuer has ended");
        line.trim_end().to_owned()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        // It ends with its input; a failed test need not wait for it.
        self.stdin = None;
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
