//! A hostile neighbour on a port of proto-mcp: no action of one user keeps another out, and the memory of the server
//! stays within its bounds. Each attack is carried out over every [`Carrier`].

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "proto_neighbours/attacks.rs"]
mod attacks;
#[path = "proto_neighbours/carrier.rs"]
mod carrier;
#[path = "proto_neighbours/report.rs"]
mod report;
#[path = "proto_neighbours/scene.rs"]
mod scene;
#[path = "proto_neighbours/unread.rs"]
mod unread;

use crate::carrier::{Carrier, Door};
use crate::report::Op;
use crate::scene::{INBOUND, OUTBOUND, SLACK, Server, UNHANDLED};

/// Carries an attack out over each carrier, beside a user who works; the server grows by no more than this.
fn suffer<A: Future<Output = ()> + Send>(attack: impl Fn(Door) -> A, bound: u64) {
    suffer_with(&[Op::List, Op::Call, Op::Arrive], attack, bound);
}

/// The same, while she does only this.
fn suffer_with<A: Future<Output = ()> + Send>(ops: &[Op], attack: impl Fn(Door) -> A, bound: u64) {
    for carrier in Carrier::ALL {
        Server::start(carrier).suffer(ops, &attack).holds(bound);
    }
}

#[test]
fn idle_connections_keep_no_other_out() {
    suffer(attacks::say_nothing, SLACK);
}

#[test]
fn frames_that_never_end_stay_within_their_bytes() {
    suffer(attacks::leave_small_frames_open, 2 * SLACK);
    suffer(attacks::leave_large_frames_open, INBOUND + SLACK);
}

#[test]
fn garbage_stops_no_other() {
    suffer(attacks::send_garbage, SLACK);
}

#[test]
fn frames_above_the_limit_stop_no_other() {
    suffer(attacks::announce_too_much, SLACK);
}

#[test]
fn conversations_that_begin_with_many_bytes_are_bounded() {
    // A frame that is decoded is there twice, once on each of two threads.
    suffer(attacks::begin_with_bytes, INBOUND + SLACK / 2 + SLACK);
}

#[test]
fn entries_are_bounded_by_what_they_decode_to() {
    // These calls take the turns of the tool process until they are cancelled.
    suffer_with(&[Op::List, Op::Arrive], attacks::send_entries, INBOUND + SLACK);
    suffer(attacks::send_too_many_entries, INBOUND + SLACK);
}

#[test]
fn lists_that_are_not_read_stop_no_other() {
    suffer(attacks::read_no_lists, OUTBOUND + SLACK);
}

#[test]
fn large_answers_that_are_not_read_stay_within_their_bytes() {
    // All calls share the socket of the tool process, where a small answer waits for earlier large ones.
    suffer_with(&[Op::List, Op::Arrive], attacks::read_no_answers, OUTBOUND + UNHANDLED + SLACK);
}

#[test]
fn pongs_that_are_not_read_stay_within_their_bytes() {
    for connections in [1, 4] {
        for carrier in [Carrier::WebSocket, Carrier::Grpc] {
            let server = Server::start(carrier);
            server.suffer(&[Op::List, Op::Call, Op::Arrive], |door| unread::send_pings(door, connections)).holds(SLACK);
        }
    }
}

#[test]
fn settings_whose_answers_are_not_read_stop_no_other() {
    for connections in [1, 4] {
        let server = Server::start(Carrier::Grpc);
        server.suffer(&[Op::List, Op::Call, Op::Arrive], |door| unread::send_settings(door, connections)).holds(SLACK);
    }
}

#[test]
fn calls_without_pause_leave_others_their_turn() {
    suffer(attacks::call_without_pause, 2 * SLACK);
}

#[test]
fn connections_that_come_and_go_stop_no_other() {
    suffer(attacks::come_and_go, SLACK);
}
