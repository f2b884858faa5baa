//! A hostile neighbour on a port of proto-mcp: no action of one user reaches or stops another, and the memory of the
//! server stays within its bounds. Each attack is carried out over every [`Carrier`].

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "proto_neighbours/attacks.rs"]
mod attacks;
#[path = "proto_neighbours/scene.rs"]
mod scene;

use protomcp_conformance::neighbours::User;

use crate::scene::{Carrier, Door, INBOUND, SLACK, Server};

/// Carries an attack out over each carrier, beside a user who works; the server grows by no more than this.
fn suffer<A: Future<Output = ()> + Send>(attack: impl Fn(Door) -> A, bound: u64) {
    for carrier in Carrier::ALL {
        let server = Server::start(carrier);
        let mallory = Door { carrier, user: User::new(server.port(), 1) };
        server.suffer(attack(mallory)).holds(bound);
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
fn lists_that_are_not_read_stop_no_other() {
    suffer(attacks::read_no_lists, SLACK);
}

#[test]
fn calls_without_pause_leave_others_their_turn() {
    suffer(attacks::call_without_pause, 2 * SLACK);
}

#[test]
fn connections_that_come_and_go_stop_no_other() {
    suffer(attacks::come_and_go, SLACK);
}
