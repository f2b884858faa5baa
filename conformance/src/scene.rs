//! The usual opening of a test: a session, with the published SDK or a scripted tool process at the other end.

use protomcp_envelope::ToolDefinition;

use crate::host::Host;
use crate::peer::{Peer, tool};
use crate::programs::peers;
use crate::sandbox::Sandbox;
use crate::stage::Stage;

/// A session whose tool process is scripted by the test.
#[derive(Debug)]
pub struct Scene {
    /// The MCP client, after the initialization of the session.
    pub host: Host,
    /// The tool process, after the handshake.
    pub peer: Peer,
    /// The control socket of further tool processes.
    pub stage: Stage,
    /// The folder of the session.
    pub sandbox: Sandbox,
}

impl Scene {
    /// Starts `pmcp run ./relay` with these options; the tool process lists tools with these names.
    pub fn open(options: &[&str], names: &[&str]) -> Self {
        Self::with_tools("run", "./relay", options, names.iter().map(|name| tool(name)).collect())
    }

    /// Starts `pmcp` with this command, file (`./relay` or `relay.py`), options and tools.
    pub fn with_tools(command: &str, file: &str, options: &[&str], tools: Vec<ToolDefinition>) -> Self {
        let sandbox = Sandbox::new();
        let stage = Stage::new(&sandbox);
        let mut args = vec![command, file];
        args.extend(options);
        let host = stage.pmcp(&sandbox, &args).start();
        let mut peer = stage.accept();
        peer.handshake(tools);
        let id = host.begin("2025-11-25");
        peer.settle(|| host.answered(id).is_some());
        Self { host, peer, stage, sandbox }
    }
}

/// A session with a fixture such as `py/basics.py`, initialized, and the sandbox it runs in.
pub fn session(command: &str, fixture: &str, options: &[&str]) -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.copy(fixture);
    let file = fixture.rsplit('/').next().expect("a path has a last part");
    let mut args = vec![command, file];
    args.extend(options);
    let host = sandbox.pmcp(&args).start();
    host.initialize();
    (host, sandbox)
}

/// A session with the tool process on the published Rust SDK.
pub fn rust_session(command: &str, options: &[&str]) -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    // A backtrace would push the message of a panic out of the last lines.
    let mut launch = sandbox.pmcp(&[command]).arg(peers().join("rs-target/debug/peer-rs")).without("RUST_BACKTRACE");
    for option in options {
        launch = launch.arg(option);
    }
    let host = launch.start();
    host.initialize();
    (host, sandbox)
}
