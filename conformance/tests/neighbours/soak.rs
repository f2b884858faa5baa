//! All attacks together, for the given time, within the memory that SECURITY.md allows.
//!
//! `scripts/soak neighbours` runs this with the released build and shows the table.

use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_conformance::neighbours::{Neighbours, Op, Setup, User};

use crate::{MIB, auth, bodies, connections, floods, link, queue, sessions};

/// A name, and a function that begins one round.
type Attack = (&'static str, fn(User) -> Pin<Box<dyn Future<Output = ()> + Send>>);

macro_rules! attacks {
    ($($topic:ident::$name:ident),* $(,)?) => {
        [$((stringify!($name), |mallory| Box::pin($topic::$name(mallory)))),*]
    };
}

const ATTACKS: [Attack; 46] = attacks![
    auth::make_keys_up,
    bodies::leave_bodies_open,
    bodies::leave_chunks_open,
    bodies::leave_small_bodies_open,
    bodies::leave_answers,
    bodies::read_nothing,
    bodies::read_nothing_of_one_stream,
    bodies::break_off_at_a_stuck_session,
    bodies::send_bodies_in_streams,
    connections::say_nothing,
    connections::ask_once,
    connections::ask_slowly,
    connections::fill_heads,
    connections::reset_streams,
    floods::notify,
    floods::batch_pings,
    floods::nest_values,
    floods::nest_unions,
    floods::begin_with_bytes,
    floods::name_progress_at_length,
    floods::subscribe,
    floods::send_large,
    floods::come_as_a_stranger,
    floods::ask_wrongly,
    link::inflate,
    link::inflate_a_resource,
    link::log,
    link::log_at_length,
    link::report,
    link::change,
    link::ask,
    queue::fill_with_posts,
    queue::fill_with_batches,
    queue::fill_with_streams,
    queue::fill_with_bytes,
    queue::park,
    queue::ask_and_be_silent,
    queue::cancel,
    queue::break_off,
    sessions::hoard,
    sessions::begin_only,
    sessions::come_and_go,
    sessions::listen_and_go,
    sessions::keep_large_events,
    sessions::keep_many_events,
    sessions::replay_again,
];

/// The time that a call may wait for the tool process, which both users share and mallory floods.
const TOOL: Duration = Duration::from_secs(10);

/// True if the answer needs the tool process. It is flooded from within, so some of these answers come too late; the
/// table shows their number. The bridge always answers everything else by itself.
fn needs_the_tool(op: Op) -> bool {
    matches!(op, Op::Call | Op::Notice | Op::Replay)
}

/// The duration in the long tier.
fn minutes() -> u64 {
    std::env::var("PMCP_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

#[test]
#[ignore = "minutes of all processors, in the long tier alone"]
fn all_attacks_together_stop_no_other() {
    let flags = ["--metrics", "--max-sessions", "1000"];
    let neighbours = Neighbours::start(&Setup { flags: &flags, turn: TOOL, ..Setup::default() });
    let time = Duration::from_secs(60 * minutes());
    let rounds: Arc<Vec<AtomicUsize>> = Arc::new(ATTACKS.iter().map(|_| AtomicUsize::new(0)).collect());
    let report = neighbours.suffer_for(time, async |mallory| {
        for (number, (_, attack)) in ATTACKS.into_iter().enumerate() {
            let (mallory, rounds) = (mallory.clone(), Arc::clone(&rounds));
            tokio::spawn(async move {
                loop {
                    attack(mallory.clone()).await;
                    rounds[number].fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            });
        }
        std::future::pending::<()>().await;
    });
    let mut table = report.table();
    table.push_str(&neighbours.counts());
    let mut out = std::io::stdout();
    writeln!(out, "{table}").expect("standard output is open");
    for ((name, _), rounds) in ATTACKS.iter().zip(rounds.iter()) {
        writeln!(out, "{name}: {} rounds", rounds.load(Ordering::Relaxed)).expect("standard output is open");
    }
    report.serves_except(|op, _| needs_the_tool(op)).keeps_the_secret().grows_at_most(2048 * MIB);
}
