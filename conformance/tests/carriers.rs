//! Item 34 of proto-mcp: the same behaviour over standard input and output, TCP, WebSocket and gRPC.
//!
//! One list of scenarios runs over every carrier. The messages are those of the generated code; the carriers are of other
//! makers: pipes and sockets of the system, the Python libraries `websockets` and `grpcio`. Over gRPC, where a call stands
//! for itself and has no envelope, the scenarios about envelopes have no counterpart.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "carriers/scenarios.rs"]
mod scenarios;
#[path = "carriers/wire.rs"]
mod wire;

use scenarios::{CONVERSATION, EVERYWHERE};
use wire::{Carrier, Scene};

fn run(carrier: Carrier) {
    let scene = Scene::open(carrier, &[]);
    let of_streams = if carrier == Carrier::Grpc { &[][..] } else { CONVERSATION };
    for (_, scenario) in EVERYWHERE.iter().chain(of_streams) {
        scenario(&scene);
    }
}

#[test]
fn standard_input_and_output_behave() {
    run(Carrier::Stdio);
}

#[test]
fn tcp_behaves() {
    run(Carrier::Tcp);
}

#[test]
fn websocket_behaves() {
    run(Carrier::WebSocket);
}

#[test]
fn websocket_without_prefixes_behaves() {
    run(Carrier::BareWebSocket);
}

#[test]
fn grpc_behaves() {
    run(Carrier::Grpc);
}

/// On TCP the token is in the first message, and over HTTP in the header.
#[test]
fn tokens_are_required_by_every_carrier() {
    for carrier in [Carrier::Tcp, Carrier::WebSocket, Carrier::BareWebSocket, Carrier::Grpc] {
        let scene = Scene::open(carrier, &["--auth", "token:SECRET"]);
        for (token, is_good) in [(None, false), (Some("other"), false), (Some("t0k"), true)] {
            assert_eq!(scene.answers_to(token), is_good, "{carrier:?} {token:?}");
        }
    }
}
