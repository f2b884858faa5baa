//! A server behind the gateway, in each way in which the gateway is told of it.

use std::ffi::OsString;

use protomcp_client::Mode;
use protomcp_conformance::{Sandbox, pmcp};
use protomcp_types::ProtocolVersion;
use serde_json::json;

use crate::real_servers::family::Family;
use crate::real_servers::place::{Place, Program, Way};
use crate::real_servers::servers::Server;

/// The eras of clients.
pub(crate) const ERAS: [(Mode, ProtocolVersion); 2] =
    [(Mode::Stateful, ProtocolVersion::NEWEST_STATEFUL), (Mode::Stateless, ProtocolVersion::V2026_07_28)];

/// The deadline of calls, which is below the patience of the tests.
const CALL_TIMEOUT: &str = "15s";

/// A server and the gateway before it.
pub(crate) struct Behind {
    /// Where clients connect to.
    pub(crate) gateway: Place,
    /// The server over HTTP; one on stdio is a child of the gateway.
    _server: Option<Place>,
    /// The processes of the server, without the processes of the gateway.
    pub(crate) family: Family,
    /// The folder of the server.
    pub(crate) sandbox: Sandbox,
}

/// The way in which the gateway is told of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// `pmcp run -- COMMAND`
    Run,
    /// `pmcp dev -- COMMAND`
    Dev,
    /// `pmcp run --config FILE`
    Config,
    /// `pmcp run --upstream URL`
    Upstream,
}

impl Gate {
    /// The ways for a server. Those on an SDK are behind all of them.
    pub(crate) fn all(server: &Server, way: Way) -> &'static [Self] {
        match way {
            Way::Stdio if server.is_of_an_sdk => &[Self::Run, Self::Dev, Self::Config],
            Way::Stdio => &[Self::Run],
            Way::Http | Way::Sse => &[Self::Upstream],
        }
    }

    /// The transport towards clients.
    pub(crate) fn front(self) -> Way {
        if self == Self::Run { Way::Http } else { Way::Stdio }
    }
}

impl Behind {
    pub(crate) fn new(server: &Server, way: Way, gate: Gate) -> Self {
        let (sandbox, own) = (Sandbox::new(), Sandbox::new());
        let program = (server.program)(&sandbox, way);
        let family = Family::new(&sandbox);
        let mut words: Vec<OsString> = vec![pmcp().into()];
        words.push(if gate == Gate::Dev { "dev" } else { "run" }.into());
        words.extend(["--call-timeout", CALL_TIMEOUT].map(Into::into));
        let mut listening = None;
        match gate {
            Gate::Run => {
                words.extend(["--transport", "http", "--port", "0", "--"].map(Into::into));
                words.extend(started(program, &sandbox));
            }
            Gate::Dev => {
                words.push("--".into());
                words.extend(started(program, &sandbox));
            }
            Gate::Config => {
                let words_of_server: Vec<_> = started(program, &sandbox).iter().map(text).collect();
                let (command, args) = words_of_server.split_first().expect("a command has a program");
                let file = json!({"mcpServers": {"server": {"command": command, "args": args}}});
                own.write("servers.json", file.to_string());
                words.extend(["--config".into(), own.path("servers.json").into()]);
            }
            Gate::Upstream => {
                let place = Place::new(program, way, &sandbox);
                words.extend(["--upstream".into(), place.url().expect("it listens").into()]);
                listening = Some(place);
            }
        }
        let gateway = Place::new(Program::new(words), gate.front(), &own);
        Self { gateway, _server: listening, family, sandbox }
    }
}

/// The command of a server whose processes have their own mark.
fn started(program: Program, sandbox: &Sandbox) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["env", "--chdir"].map(Into::into).into();
    words.push(sandbox.path("").into());
    let marker = ("PMCP_TEST_MARKER".into(), sandbox.marker().into());
    for (name, value) in program.env.iter().chain([&marker]) {
        let mut word = name.clone();
        word.push("=");
        word.push(value);
        words.push(word);
    }
    words.extend(program.words);
    words
}

fn text(word: &OsString) -> String {
    word.to_str().expect("the words of tests are UTF-8").to_owned()
}
