//! Makes a bridge of its configuration: the workers, the pool in front of them, and the tasks that tell them of changes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use protomcp_server::{LargeWork, Server, ServerHandle, Tasks};
use protomcp_types::ServerCapabilities;
use tokio::sync::{SetOnce, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::availability::Availability;
use crate::bridge::Bridge;
use crate::builder::{Builder, HANDLER_GRACE, MAX_WAITING, SharedParts, Starting};
use crate::call::Calls;
use crate::clock::now;
use crate::core::list::List;
use crate::core::{self, Core};
use crate::diagnostics::start_error::StartError;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::queue_limits::QueueLimits;
use crate::driver::first_start::FirstStart;
use crate::driver::inbox::Inbox;
use crate::driver::launcher::{Launcher, ProcessSettings};
use crate::driver::message::Message;
use crate::driver::progress::{Outcome, Progress};
use crate::driver::watching::{Receivers, Watched};
use crate::driver::{Driver, First, INPUTS, Shared};
use crate::exposition::BridgeMetrics;
use crate::from_tool::inline_events::EventTap;
use crate::handler::Backend;
use crate::metrics::Metrics;
use crate::pool::Pool;
use crate::pool::affinity::WorkerAffinity;
use crate::pool::roller::{Reloadable, roll};
use crate::pool::worker::Worker;

/// The parts that the workers share.
struct Front {
    sessions: ServerHandle,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
}

/// A worker whose loop runs.
struct Launched {
    worker: Worker,
    reloadable: Reloadable,
    starting: oneshot::Receiver<Result<(), StartError>>,
    run: JoinHandle<()>,
}

impl Builder {
    /// Starts the tool processes without waiting for them. Clients can be served immediately: the handshake is
    /// answered, and requests that need the tools wait for them. Must be called inside a tokio runtime with I/O and
    /// timers.
    pub fn launch(mut self) -> (Bridge, Starting) {
        for warning in &self.process.launch.warnings {
            tracing::warn!("{warning}");
        }
        if let Some(note) = &self.process.launch.note {
            tracing::info!("{note}");
        }
        // A later save may come too late for the process, and before the first scan of the watcher.
        let watched: Vec<_> = std::mem::take(&mut self.watched).into_iter().map(Watched::starting_now).collect();
        let info = std::mem::take(&mut self.info).with_capabilities(capabilities());
        let SharedParts { state_keys, stores } = &self.shared;
        let front = Front {
            sessions: ServerHandle::with_stores(info.clone(), self.limits, state_keys.clone(), stores.clone()),
            metrics: Arc::default(),
            stop: CancellationToken::new(),
        };
        let mut all = vec![self.launch_worker(1, None, &front)];
        let first =
            FirstStart { outcome: all[0].reloadable.outcome.clone(), requests: Arc::clone(&all[0].worker.started) };
        all.extend((2..=self.pool.workers).map(|number| self.launch_worker(number, Some(first.clone()), &front)));

        let dispatchers: Arc<[_]> = all.iter().map(|launched| Arc::clone(&launched.worker.calls.dispatcher)).collect();
        let traffic = Arc::clone(&self.process.link.byte_counters);
        let metrics = BridgeMetrics { metrics: front.metrics, dispatchers: Arc::clone(&dispatchers), traffic };
        let availability = Availability(dispatchers.iter().map(|dispatcher| dispatcher.availability()).collect());
        let snapshot = Arc::clone(&all[0].worker.snapshot);
        let started = Arc::clone(&all[0].worker.started);

        let (mut workers, mut reloadable, mut starting, mut runs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for launched in all {
            workers.push(launched.worker);
            reloadable.push(launched.reloadable);
            starting.push(launched.starting);
            runs.push(launched.run);
        }
        // Clients see the lists of the first worker.
        let pages = reloadable[0].inputs.clone();
        let (inputs, roller) = reloads(reloadable);
        let receivers = Receivers { program: inputs.clone(), pages };
        let mut changes: Vec<_> = roller.into_iter().collect();
        changes.extend(watched.into_iter().map(|watched| tokio::spawn(watched.run(receivers.clone()))));
        let pool = Pool::new(workers, self.pool.affinity, front.sessions.clone());
        let backend = Backend { info, pool, tasks: Tasks::new(front.sessions.clone()) };
        // A call of the bridge only waits for the tool process, so it needs no separate task.
        let server = Server::with_sessions(front.sessions, backend).inline_calls();
        let stop = front.stop;
        let bridge = Bridge { server, metrics, availability, snapshot, started, inputs, stop, runs, changes };
        (bridge, Starting(starting))
    }

    /// Launches the worker of this number, after the first start of another one if there is one to wait for.
    fn launch_worker(&self, number: usize, after: Option<FirstStart>, front: &Front) -> Launched {
        let core_limits = core::Limits { call_timeout: self.call_timeout, max_retiring: self.max_retiring };
        let list = List::new(self.schemas, self.lists);
        let is_spread = self.pool.workers > 1 && self.pool.affinity == WorkerAffinity::None;
        let list = if is_spread { list.fixed() } else { list };
        let (core, effects) = Core::new(now(), self.mode, list, core_limits, self.first);
        let waits = QueueLimits {
            capacity: MAX_WAITING,
            turn: self.queue_timeout,
            handler: self.call_timeout,
            grace: HANDLER_GRACE,
        };
        let (dispatcher, loads) = Dispatcher::new(waits, Arc::clone(&front.metrics), front.sessions.clone());
        let (sender, inputs) = mpsc::channel(INPUTS);
        // A session ends once, and its end cannot wait.
        let (ended, closed) = mpsc::unbounded_channel();
        let (owner, starting) = oneshot::channel();
        let (progress, outcome) = watch::channel(Outcome::Pending);
        let started = Arc::new(SetOnce::new());
        let shared = Shared {
            dispatcher: Arc::clone(&dispatcher),
            metrics: Arc::clone(&front.metrics),
            snapshot: Arc::default(),
            sessions: front.sessions.clone(),
            sender: sender.clone(),
            progress: Progress::new(progress),
        };
        let calls = Calls {
            dispatcher: Arc::clone(&dispatcher),
            snapshot: Arc::clone(&shared.snapshot),
            inputs: sender.clone(),
            timeout: self.call_timeout,
            arguments: self.arguments,
            settings: self.settings,
            metrics: Arc::clone(&front.metrics),
            large_work: LargeWork::default(),
        };
        let snapshot = Arc::clone(&shared.snapshot);
        let worker = Worker { snapshot, calls: Arc::new(calls), started: Arc::clone(&started), ended };
        let tap = EventTap::new(dispatcher, front.sessions.clone());
        let launcher = Launcher::new(self.process_of(number, is_spread), tap);
        let inbox = Inbox { stop: front.stop.clone(), loads, closed, inputs };
        let first = First { requests: started, owner };
        let driver = Driver::new(core, shared, launcher, inbox, first);
        let run = match after {
            None => tokio::spawn(driver.run(effects)),
            Some(first) => tokio::spawn(driver.run_after(first, effects)),
        };
        Launched { worker, reloadable: Reloadable { inputs: sender, outcome }, starting, run }
    }

    /// The settings of the process of this worker.
    fn process_of(&self, number: usize, is_spread: bool) -> ProcessSettings {
        let mut process = self.process.clone();
        if self.pool.workers > 1 {
            process.worker = Some(number);
            process.shows_lists = !is_spread || number == 1;
            process.name = format!("{}#{number}", process.name);
        }
        if number > 1 {
            process.socket = process.socket.map(|path| {
                let mut path = OsString::from(path);
                path.push(format!(".{number}"));
                PathBuf::from(path)
            });
        }
        process
    }
}

/// The receiver of changes: the only worker, or a task that reloads one after another.
fn reloads(mut workers: Vec<Reloadable>) -> (mpsc::Sender<Message>, Option<JoinHandle<()>>) {
    match workers.as_mut_slice() {
        [only] => (only.inputs.clone(), None),
        _ => {
            let (sender, changes) = mpsc::channel(INPUTS);
            (sender, Some(tokio::spawn(roll(workers, changes))))
        }
    }
}

/// All capabilities that a tool file may need: they are declared once, and the next reload may add the entries.
fn capabilities() -> ServerCapabilities {
    let capabilities = ServerCapabilities::default().with_tools().with_resources();
    capabilities.with_tasks().with_task_extension().with_prompts().with_completions().with_logging()
}
