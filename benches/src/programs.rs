//! The programs that are started, built together so that all are current.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages and programs that are built; the first one is the bridge.
const BUILT: [&[&str]; 3] = [
    &["--package", "protomcp-cli", "--features", "redis", "--bin", "pmcp"],
    &["--package", "protomcp-codec", "--example", "tool_peer"],
    &["--package", "protomcp-peers", "--bins"],
];

/// The paths of the programs.
#[derive(Debug)]
pub struct Programs {
    /// The bridge.
    pub pmcp: PathBuf,
    /// The codec's example of a tool process, with the tool `echo`.
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
    /// Finds the programs of a release in the target folder that this program lies in. `pmcp`: the bridge, if it lies
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// If this program is not below a folder with the name `release` or `debug`.
    pub fn find(pmcp: Option<&Path>) -> io::Result<Self> {
        let here = env::current_exe()?;
        let built = target(&here)?.join("release");
        let program = |name: &str| built.join(name);
        Ok(Self {
            pmcp: pmcp.map_or_else(|| program("pmcp"), Path::to_owned),
            tool: program("examples/tool_peer"),
            relay: program("plain_relay"),
            plain_tool: program("plain_tool"),
            large_tool: program("large_tool"),
            rmcp: program("rmcp_echo"),
            caller: program("caller"),
        })
    }

    /// Builds a release of all of them, as `cargo build --release` does. Each package is built by itself, because the
    /// features of packages that are built together are joined. `pmcp`: the bridge, which is built already.
    ///
    /// # Errors
    ///
    /// If cargo cannot be run or a program does not build.
    pub fn build(pmcp: Option<&Path>) -> io::Result<()> {
        let here = env::current_exe()?;
        for args in BUILT.into_iter().skip(usize::from(pmcp.is_some())) {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--quiet", "--release"]).args(args).arg("--target-dir").arg(target(&here)?);
            if !cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?.success() {
                return Err(io::Error::other(format!("cargo build --release {} failed", args.join(" "))));
            }
        }
        Ok(())
    }

    /// An error that names the programs which do not exist.
    ///
    /// # Errors
    ///
    /// If there is one.
    pub fn check(&self) -> io::Result<()> {
        let all = [&self.pmcp, &self.tool, &self.relay, &self.plain_tool, &self.large_tool, &self.rmcp, &self.caller];
        let missing: Vec<_> =
            all.into_iter().filter(|path| !path.exists()).map(|path| path.display().to_string()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let commands = BUILT.map(|args| format!("cargo build --release {}", args.join(" "))).join("; ");
        Err(io::Error::other(format!("not built: {}; run this without --no-build, or {commands}", missing.join(", "))))
    }
}

fn target(program: &Path) -> io::Result<&Path> {
    let profile = program.ancestors().find(|folder| folder.ends_with("release") || folder.ends_with("debug"));
    let target = profile.and_then(Path::parent);
    target.ok_or_else(|| io::Error::other(format!("{} is not in the target folder of cargo", program.display())))
}
