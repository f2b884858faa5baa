//! The measured programs, built together so that all are current.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The paths of the programs.
#[derive(Debug)]
pub struct Programs {
    /// The bridge.
    pub pmcp: PathBuf,
    /// Another build of it, to compare with: the value of the environment variable `PMCP_OTHER`.
    pub other: Option<PathBuf>,
    /// The codec's example of a tool process.
    pub tool: PathBuf,
    /// The relay that parses nothing.
    pub relay: PathBuf,
    /// The tool process behind the relay.
    pub plain_tool: PathBuf,
    /// The tool process that makes its large results in advance.
    pub large_tool: PathBuf,
    /// The `rmcp` server.
    pub rmcp: PathBuf,
    /// The program that calls a server with one of the client libraries.
    pub caller: PathBuf,
}

impl Programs {
    /// Builds them with the profile that this program was built with.
    ///
    /// # Errors
    ///
    /// If cargo cannot be run or a program does not build.
    pub fn build() -> io::Result<Self> {
        let here = env::current_exe()?;
        let built = here.parent().ok_or_else(|| io::Error::other("a program lies in a folder"))?;
        let target = built.parent().ok_or_else(|| io::Error::other("a profile's folder lies in the target folder"))?;
        let release = built.ends_with("release");
        for args in [
            &["--package", "protomcp-cli", "--bin", "pmcp"][..],
            &["--package", "protomcp-codec", "--example", "tool_peer"],
            &["--package", "protomcp-peers", "--bins"],
        ] {
            build(args, target, release)?;
        }
        let program = |name: &str| built.join(name);
        Ok(Self {
            pmcp: program("pmcp"),
            other: env::var_os("PMCP_OTHER").map(PathBuf::from),
            tool: program("examples/tool_peer"),
            relay: program("plain_relay"),
            plain_tool: program("plain_tool"),
            large_tool: program("large_tool"),
            rmcp: program("rmcp_echo"),
            caller: program("caller"),
        })
    }
}

fn build(args: &[&str], target: &Path, release: bool) -> io::Result<()> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .arg("build")
        .arg("--quiet")
        .args(args)
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if release {
        cargo.arg("--release");
    }
    let status = cargo.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cargo build {} failed", args.join(" ")))) }
}
