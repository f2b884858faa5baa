//! Three processes that want one session, a table, and a network that delays, reorders, loses and repeats, in random
//! histories.
//!
//! The clocks of the processes run at different rates, and their machines are suspended. In every history at most one
//! process serves the session at a time, and the writes that the store accepts have tokens that never fall, each with
//! one writer. When the network works again, the session is served within three times the lease.

use proptest::array::uniform3;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

mod packet;

use self::packet::{Body, Packet};
use super::*;
use crate::records::lease::{Lease, LeaseAction, LeaseTerms};
use crate::records::lease_clock::LeaseClock;
use crate::records::node::NodeId;

/// Milliseconds.
const TTL: u64 = 1_000;
const SESSION: &str = "s";

/// A step. An index selects a packet on the wire, or a process.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// This many milliseconds pass.
    Pass(u64),
    /// A packet arrives.
    Deliver(Index),
    /// All packets of a process arrive in order, and so do the answers.
    Exchange(Index),
    Lose(Index),
    Repeat(Index),
    /// A process does not wait for its answers any longer.
    TimeOut(Index),
    /// A request for the session reaches a process: it writes, or claims the session.
    Request(Index),
    /// A process frees the session.
    Release(Index),
    /// A process ends, and starts again.
    Resign(Index),
    /// The machine of a process is suspended, and goes on later.
    Suspend(Index),
    Resume(Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<Index>;
    let step = prop_oneof![
        6 => (1..200_u64).prop_map(Step::Pass),
        4 => index().prop_map(Step::Deliver),
        16 => index().prop_map(Step::Exchange),
        1 => index().prop_map(Step::Lose),
        1 => index().prop_map(Step::Repeat),
        1 => index().prop_map(Step::TimeOut),
        8 => index().prop_map(Step::Request),
        1 => index().prop_map(Step::Release),
        1 => index().prop_map(Step::Resign),
        1 => index().prop_map(Step::Suspend),
        1 => index().prop_map(Step::Resume),
    ];
    vec(step, 1..300)
}

/// The clock of the processes.
#[derive(Debug, Clone, Copy)]
enum Clock {
    /// `Instant` stands still while the machine is suspended.
    Instant,
    /// The one of leases.
    Lease,
}

struct Process {
    /// The rate of its clock in thousandths of the store's.
    rate: u64,
    starts: u64,
    lease_name: LeaseName,
    /// `None`: it registers.
    lease: Option<Lease>,
    /// The open request about its lease, and the time at which it was sent.
    asked: Option<(u64, Instant)>,
    /// The open claim.
    claim: Option<u64>,
    token: Option<FencingToken>,
    is_suspended: bool,
    /// The milliseconds in which it was suspended.
    suspended: u64,
}

struct World {
    start: Instant,
    clock: Clock,
    /// Milliseconds of the store's clock.
    now: u64,
    table: LeaseTable,
    processes: Vec<Process>,
    wire: Vec<Packet>,
    serial: u64,
    /// The accepted writes, each with its writer.
    written: Vec<(FencingToken, usize)>,
}

impl World {
    /// All processes have registered, and the first has opened the session.
    fn new(rates: [u64; 3], clock: Clock) -> Self {
        let process = |rate| Process {
            rate,
            starts: 0,
            lease_name: LeaseName::first(NodeId::default()),
            lease: None,
            asked: None,
            claim: None,
            token: None,
            is_suspended: false,
            suspended: 0,
        };
        let mut world = Self {
            start: Instant::now(),
            clock,
            now: 0,
            table: LeaseTable::new(1, Duration::from_secs(3600)),
            processes: rates.into_iter().map(process).collect(),
            wire: Vec::new(),
            serial: 0,
            written: Vec::new(),
        };
        (0..rates.len()).for_each(|at| world.restart(at));
        world.deliver_all();
        let opened = world.table.open(SESSION, &world.processes[0].lease_name, world.start);
        assert_eq!(opened, Claim::Granted(FencingToken::FIRST, None));
        world.processes[0].token = Some(FencingToken::FIRST);
        world
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Pass(time) => self.pass(time),
            Step::Deliver(index) => {
                let arriving = self.arriving();
                if !arriving.is_empty() {
                    let packet = self.wire.remove(arriving[index.index(arriving.len())]);
                    self.deliver(packet);
                }
            }
            Step::Exchange(index) => self.with(index, Self::exchange),
            Step::Lose(index) => {
                if !self.wire.is_empty() {
                    self.wire.remove(index.index(self.wire.len()));
                }
            }
            Step::Repeat(index) => {
                if !self.wire.is_empty() {
                    self.wire.push(self.wire[index.index(self.wire.len())].clone());
                }
            }
            Step::TimeOut(index) => self.with(index, Self::time_out),
            Step::Request(index) => self.with(index, Self::request),
            Step::Release(index) => self.with(index, Self::release),
            Step::Resign(index) => self.with(index, Self::resign),
            Step::Suspend(index) => self.with(index, |world, at| world.processes[at].is_suspended = true),
            Step::Resume(index) => {
                let at = index.index(self.processes.len());
                self.processes[at].is_suspended = false;
            }
        }
    }

    /// Lets a process act that is not suspended.
    fn with(&mut self, index: Index, act: impl FnOnce(&mut Self, usize)) {
        let at = index.index(self.processes.len());
        if !self.processes[at].is_suspended {
            act(self, at);
        }
    }

    fn pass(&mut self, time: u64) {
        self.now += time;
        for process in self.processes.iter_mut().filter(|process| process.is_suspended) {
            process.suspended += time;
        }
        (0..self.processes.len()).for_each(|at| self.poll(at));
    }

    fn exchange(&mut self, at: usize) {
        while let Some(next) = self.wire.iter().position(|packet| packet.process == at) {
            let packet = self.wire.remove(next);
            self.deliver(packet);
        }
    }

    /// The packets that a running process, or the store, can receive.
    fn arriving(&self) -> Vec<usize> {
        let can_arrive = |packet: &Packet| !packet.body.is_answer() || !self.processes[packet.process].is_suspended;
        (0..self.wire.len()).filter(|at| can_arrive(&self.wire[*at])).collect()
    }

    fn local(&self, at: usize) -> Instant {
        let Process { rate, suspended, .. } = self.processes[at];
        let instant = self.start + Duration::from_micros((self.now - suspended) * rate);
        let since_boot = Duration::from_micros(self.now * rate);
        match self.clock {
            Clock::Instant => instant,
            Clock::Lease => LeaseClock::new(Duration::ZERO, self.start).read(since_boot, instant),
        }
    }

    fn send(&mut self, at: usize, body: Body) -> u64 {
        self.serial += 1;
        self.wire.push(Packet {
            process: at,
            lease_name: self.processes[at].lease_name.clone(),
            serial: self.serial,
            body,
        });
        self.serial
    }

    /// The process gets a new name, and registers under it.
    fn restart(&mut self, at: usize) {
        let process = &mut self.processes[at];
        process.starts += 1;
        process.lease_name = LeaseName { node: NodeId::new(at.to_string()), number: process.starts };
        (process.lease, process.claim, process.token) = (None, None, None);
        let sent = self.local(at);
        let serial = self.send(at, Body::Register);
        self.processes[at].asked = Some((serial, sent));
    }

    fn poll(&mut self, at: usize) {
        let now = self.local(at);
        let process = &mut self.processes[at];
        if process.is_suspended {
            return;
        }
        match process.lease.as_mut().and_then(|lease| lease.poll(now)) {
            Some(LeaseAction::Renew) => {
                let serial = self.send(at, Body::Renew);
                self.processes[at].asked = Some((serial, now));
            }
            Some(LeaseAction::Stop) => self.restart(at),
            None => {}
        }
    }

    fn time_out(&mut self, at: usize) {
        let now = self.local(at);
        let process = &mut self.processes[at];
        process.claim = None;
        if process.asked.take().is_none() {
            return;
        }
        if let Some(lease) = &mut self.processes[at].lease {
            lease.failed(now + Duration::from_millis(TTL / 20));
        } else {
            self.restart(at);
        }
    }

    fn request(&mut self, at: usize) {
        if !self.has_lease(at) {
            return;
        }
        if let Some(token) = self.processes[at].token {
            self.send(at, Body::Write(token));
        } else if self.processes[at].claim.is_none() {
            let serial = self.send(at, Body::Claim);
            self.processes[at].claim = Some(serial);
        }
    }

    fn release(&mut self, at: usize) {
        if let Some(token) = self.processes[at].token.take() {
            self.send(at, Body::Release(token));
        }
    }

    fn resign(&mut self, at: usize) {
        if let Some(lease) = &mut self.processes[at].lease {
            lease.end();
            self.send(at, Body::Resign);
            self.restart(at);
        }
    }

    fn has_lease(&self, at: usize) -> bool {
        self.processes[at].lease.as_ref().is_some_and(|lease| lease.is_held(self.local(at)))
    }

    fn serves(&self, at: usize) -> bool {
        self.processes[at].token.is_some() && self.has_lease(at)
    }

    fn deliver(&mut self, packet: Packet) {
        if packet.body.is_answer() {
            self.receive(packet);
            return;
        }
        if let Some(body) = self.execute(&packet) {
            self.wire.push(Packet { body, ..packet });
        }
    }

    fn deliver_all(&mut self) {
        while !self.wire.is_empty() {
            let packet = self.wire.remove(0);
            self.deliver(packet);
        }
    }

    /// The answer of the store.
    fn execute(&mut self, Packet { process, lease_name, body, .. }: &Packet) -> Option<Body> {
        let now = self.start + Duration::from_millis(self.now);
        let ttl = Duration::from_millis(TTL);
        match body {
            Body::Register => Some(Body::Registered(self.table.register(lease_name, ttl, now))),
            Body::Renew => Some(Body::Renewed(self.table.renew(lease_name, ttl, now))),
            Body::Claim => Some(Body::Claimed(self.table.claim(SESSION, lease_name, now))),
            Body::Write(token) => {
                let is_latest = self.table.sessions[SESSION].token == *token;
                if is_latest {
                    self.written.push((*token, *process));
                }
                Some(Body::Written(*token, is_latest))
            }
            Body::Release(token) => {
                self.table.release(SESSION, *token, now);
                None
            }
            Body::Resign => {
                self.table.resign(lease_name, now);
                None
            }
            answer => unreachable!("{answer:?} is an answer"),
        }
    }

    /// An answer arrives. Its process ignores it if it has another name now, or has stopped waiting for it.
    fn receive(&mut self, Packet { process: at, lease_name, serial, body }: Packet) {
        let process = &mut self.processes[at];
        if process.lease_name != lease_name {
            return;
        }
        match body {
            Body::Registered(is_granted) => {
                let Some((_, sent)) = process.asked.take_if(|(asked, _)| *asked == serial) else { return };
                if is_granted {
                    let terms = LeaseTerms::new(Duration::from_millis(TTL));
                    process.lease = Some(Lease::granted(terms, sent));
                } else {
                    self.restart(at);
                }
            }
            Body::Renewed(is_renewed) => {
                if process.asked.take_if(|(asked, _)| *asked == serial).is_none() {
                    return;
                }
                if !is_renewed {
                    self.restart(at);
                } else if let Some(lease) = &mut process.lease {
                    lease.renewed();
                }
            }
            Body::Claimed(claim) => {
                if process.claim.take_if(|asked| *asked == serial).is_some()
                    && let Claim::Granted(token, _) = claim
                {
                    process.token = Some(token);
                }
            }
            Body::Written(token, is_latest) => {
                if !is_latest && process.token == Some(token) {
                    process.token = None;
                }
            }
            request => unreachable!("{request:?} is a request"),
        }
    }

    /// The network works, and all processes are asked for the session until one has written.
    fn settle(&mut self) {
        let before = self.written.len();
        for at in 0..self.processes.len() {
            self.processes[at].is_suspended = false;
            self.poll(at);
            self.time_out(at);
        }
        for _ in 0..3 * TTL / 50 {
            self.deliver_all();
            self.check();
            (0..self.processes.len()).for_each(|at| self.request(at));
            self.pass(50);
        }
        assert!(self.written.len() > before, "no process serves the session");
    }

    fn serving(&self) -> Vec<usize> {
        (0..self.processes.len()).filter(|at| self.serves(*at)).collect()
    }

    fn check(&self) {
        let serving = self.serving();
        assert!(serving.len() <= 1, "{serving:?} serve the session");
        for pair in self.written.windows(2) {
            let ((before, first), (after, second)) = (pair[0], pair[1]);
            assert!(before < after || before == after && first == second, "{pair:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn one_process_serves_a_session_at_a_time(rates in uniform3(900..=1_100_u64), steps in steps()) {
        let mut world = World::new(rates, Clock::Lease);
        for step in steps {
            world.step(step);
            world.check();
        }
        world.settle();
    }
}

/// The machine of the holder is suspended, another process takes the session over, and the machine goes on.
#[test]
fn a_suspended_holder_knows_that_its_lease_is_over() {
    for (clock, serving) in [(Clock::Instant, &[0, 1][..]), (Clock::Lease, &[1])] {
        let mut world = World::new([1_000; 3], clock);
        world.processes[0].is_suspended = true;
        for _ in 0..2 * TTL / 50 {
            world.pass(50);
            world.exchange(1);
        }
        world.request(1);
        world.exchange(1);
        world.processes[0].is_suspended = false;
        assert_eq!(world.serving(), serving, "{clock:?}");
    }
}
