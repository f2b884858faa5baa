//! A server behind the gateway, on the transport that the server does not have there: one on stdio is served over HTTP,
//! one over HTTP on stdio.

use std::ffi::OsString;

use protomcp_client::Mode;
use protomcp_conformance::{Sandbox, pmcp};
use protomcp_types::ProtocolVersion;

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
    /// The processes of the server, without those of the gateway.
    pub(crate) family: Family,
    /// The folder of the server.
    pub(crate) sandbox: Sandbox,
}

impl Behind {
    pub(crate) fn new(server: &Server, way: Way) -> Self {
        let (sandbox, own) = (Sandbox::new(), Sandbox::new());
        let program = (server.program)(&sandbox, way);
        let family = Family::new(&sandbox);
        let run = [pmcp().into(), "run".into(), "--call-timeout".into(), CALL_TIMEOUT.into()];
        let run: [OsString; 4] = run;
        if way == Way::Stdio {
            // The processes of the server have a mark of their own.
            let folder = sandbox.path("");
            let mut words: Vec<OsString> = run.into();
            words.extend(["--transport", "http", "--port", "0", "--", "env", "--chdir"].map(Into::into));
            words.push(folder.into());
            let marker = ("PMCP_TEST_MARKER".into(), sandbox.marker().into());
            for (name, value) in program.env.iter().chain([&marker]) {
                let mut word = name.clone();
                word.push("=");
                word.push(value);
                words.push(word);
            }
            words.extend(program.words);
            let gateway = Place::new(Program::new(words), Way::Http, &own);
            return Self { gateway, _server: None, family, sandbox };
        }
        let listening = Place::new(program, way, &sandbox);
        let url = listening.url().expect("it listens").to_owned();
        let words = run.into_iter().chain(["--upstream".into(), url.into()]);
        Self { gateway: Place::new(Program::new(words), Way::Stdio, &own), _server: Some(listening), family, sandbox }
    }

    /// The transport towards clients.
    pub(crate) fn front(way: Way) -> Way {
        if way == Way::Stdio { Way::Http } else { Way::Stdio }
    }
}
