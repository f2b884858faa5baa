//! Servers that are killed or suspended, and a store that is restarted, or silent for a while.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use protomcp_conformance::{Redis, Web};
use rustix::process::Signal;

use crate::chaos::moments::Random;
use crate::replica_chaos::ledger::Ledger;

/// The time between two disturbances.
const TICK: Duration = Duration::from_secs(5);

/// A disturbance of a part. The time is counted in disturbances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    /// A server is killed, and started again at the next one.
    Kill,
    /// A server is suspended: its lease is over after two.
    Suspend(u64),
    /// The store is restarted with its data.
    Restart,
    /// The store is restarted without its data.
    Lose,
    /// The store does not answer.
    Silence(u64),
}

/// Each of them once: as many servers as stores.
const ALL: [Disturbance; 8] = [
    Disturbance::Kill,
    Disturbance::Suspend(1),
    Disturbance::Suspend(3),
    Disturbance::Kill,
    Disturbance::Restart,
    Disturbance::Lose,
    Disturbance::Silence(1),
    Disturbance::Silence(3),
];

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    /// Until this disturbance, or until the store answers.
    Killed(u64),
    Suspended(u64),
}

/// The parts that are disturbed.
pub(crate) struct Parts<'a> {
    pub(crate) redis: &'a mut Redis,
    pub(crate) servers: &'a mut [Web; 3],
    /// Starts a server on its port again.
    pub(crate) start: &'a dyn Fn(&Redis, u16) -> Web,
}

impl Parts<'_> {
    /// Disturbs this many times, then leaves all parts running.
    #[expect(clippy::print_stdout, reason = "a failed run shows what happened when")]
    pub(crate) fn disturb(&mut self, count: u64, random: &mut Random, ledger: &Ledger) {
        let (mut states, mut silent_until) = ([State::Runs; 3], None);
        let mut left = Vec::new();
        for now in 0..count {
            self.mend(now, &mut states, &mut silent_until);
            if left.is_empty() {
                left = ALL.to_vec();
            }
            let place = usize::try_from(random.below(left.len() as u64)).expect("a place in a list");
            let disturbance = left.swap_remove(place);
            ledger.disturbances.fetch_add(1, Ordering::SeqCst);
            println!("{now}: {disturbance:?}; {states:?}");
            match disturbance {
                Disturbance::Kill | Disturbance::Suspend(_) => {
                    // One of them serves at any time.
                    let running: Vec<usize> = (0..3).filter(|place| states[*place] == State::Runs).collect();
                    if running.len() > 1 {
                        let place = running[usize::try_from(random.below(running.len() as u64)).expect("a place")];
                        let process = self.servers[place].process();
                        states[place] = if let Disturbance::Suspend(time) = disturbance {
                            process.signal(Signal::STOP);
                            State::Suspended(now + time)
                        } else {
                            process.signal(Signal::KILL);
                            process.exit();
                            State::Killed(now + 1)
                        };
                    }
                }
                Disturbance::Silence(time) if silent_until.is_none() => {
                    self.redis.signal(Signal::STOP);
                    silent_until = Some(now + time);
                }
                Disturbance::Restart if silent_until.is_none() => {
                    self.redis.stop_with_data();
                    self.redis.start_again();
                }
                Disturbance::Lose => {
                    ledger.losses.fetch_add(1, Ordering::SeqCst);
                    self.redis.stop();
                    self.redis.start_again();
                    silent_until = None;
                }
                Disturbance::Silence(_) | Disturbance::Restart => {}
            }
            thread::sleep(TICK);
        }
        self.mend(u64::MAX, &mut states, &mut silent_until);
    }

    /// Ends what lasts until now.
    fn mend(&mut self, now: u64, states: &mut [State; 3], silent_until: &mut Option<u64>) {
        if silent_until.is_some_and(|until| until <= now) {
            self.redis.signal(Signal::CONT);
            *silent_until = None;
        }
        for (state, server) in states.iter_mut().zip(&mut *self.servers) {
            match *state {
                // A server does not start without its store.
                State::Killed(until) if until <= now && silent_until.is_none() => {
                    *server = (self.start)(self.redis, server.port());
                    *state = State::Runs;
                }
                State::Suspended(until) if until <= now => {
                    server.process().signal(Signal::CONT);
                    *state = State::Runs;
                }
                _ => {}
            }
        }
    }
}
