//! A hostile neighbour on a port of proto-mcp: no action of one user keeps another out, and the memory of the server
//! stays within its bounds. Each attack is carried out over every [`Carrier`], in the short tier over one alone if it is on
//! what is behind them.

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

use protomcp_conformance::tier;

use crate::carrier::{Carrier, Door};
use crate::report::Op;
use crate::scene::{INBOUND, OUTBOUND, SLACK, Server, UNHANDLED};

/// Carries an attack out over each carrier, while a user works; the server grows by no more than this.
fn suffer<A: Future<Output = ()> + Send>(attack: impl Fn(Door) -> A, bound: u64) {
    suffer_over(&Carrier::ALL, &Op::ALL, attack, bound);
}

/// Carries out an attack on what all carriers have in common: over this one, and in the long tier over each. She does only
/// these operations.
fn suffer_behind<A: Future<Output = ()> + Send>(carrier: Carrier, ops: &[Op], attack: impl Fn(Door) -> A, bound: u64) {
    suffer_over(tier::<&[Carrier]>(&[carrier], &Carrier::ALL), ops, attack, bound);
}

fn suffer_over<A: Future<Output = ()> + Send>(
    carriers: &[Carrier],
    ops: &[Op],
    attack: impl Fn(Door) -> A,
    bound: u64,
) {
    for carrier in carriers {
        Server::start(*carrier).suffer(ops, &attack).holds(bound);
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
    suffer_behind(Carrier::Tcp, &Op::ALL, attacks::begin_with_bytes, INBOUND + SLACK / 2 + SLACK);
}

#[test]
fn entries_are_bounded_by_what_they_decode_to() {
    // These calls take the turns of the tool process until they are cancelled.
    suffer_behind(Carrier::WebSocket, &[Op::List, Op::Arrive], attacks::send_entries, INBOUND + SLACK);
    suffer_behind(Carrier::Grpc, &Op::ALL, attacks::send_too_many_entries, INBOUND + SLACK);
}

#[test]
fn lists_that_are_not_read_stop_no_other() {
    suffer_behind(Carrier::Tcp, &Op::ALL, attacks::read_no_lists, OUTBOUND + SLACK);
}

#[test]
fn large_answers_that_are_not_read_stay_within_their_bytes() {
    // All calls share the socket of the tool process, where a small answer waits for earlier large ones.
    let bound = OUTBOUND + UNHANDLED + SLACK;
    suffer_behind(Carrier::Grpc, &[Op::List, Op::Arrive], attacks::read_no_answers, bound);
}

/// The connections that share the unread bytes. What one may keep shows with several, too.
fn connections() -> &'static [usize] {
    tier::<&[usize]>(&[4], &[1, 4])
}

#[test]
fn pongs_that_are_not_read_stay_within_their_bytes() {
    for number in connections() {
        for carrier in [Carrier::WebSocket, Carrier::Grpc] {
            let server = Server::start(carrier);
            server.suffer(&Op::ALL, |door| unread::send_pings(door, *number)).holds(SLACK);
        }
    }
}

#[test]
fn settings_whose_answers_are_not_read_stop_no_other() {
    for number in connections() {
        let server = Server::start(Carrier::Grpc);
        server.suffer(&Op::ALL, |door| unread::send_settings(door, *number)).holds(SLACK);
    }
}

#[test]
fn calls_without_pause_leave_others_their_turn() {
    suffer_behind(Carrier::WebSocket, &Op::ALL, attacks::call_without_pause, 2 * SLACK);
}

#[test]
fn connections_that_come_and_go_stop_no_other() {
    suffer(attacks::come_and_go, SLACK);
}
