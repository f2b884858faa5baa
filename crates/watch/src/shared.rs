//! One queue of the system's notifications for all watchers of the process.
//!
//! Linux grants each user 128 queues by default, for all programs together. The queue is opened for the first watcher and
//! closed with the last. Each notification goes to the watchers that requested its directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use notify::event::EventKind;
use notify::{Config, Event, EventHandler, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::disk::Stamp;
use crate::error::WatchError;
use crate::inbox::Inbox;
use crate::native::{self, Notifier, Reading, Sign};

/// The queue of this process while a watcher needs it.
static QUEUE: Mutex<Weak<Queue>> = Mutex::new(Weak::new());

/// Opens the queue, or shares the one that is open. Where a request covers a tree, each watcher has its own.
pub(crate) fn open(inbox: Inbox) -> notify::Result<Box<dyn Notifier>> {
    if native::COVERS_TREES {
        return native::open(inbox);
    }
    Ok(Box::new(Member::join(inbox)?))
}

/// A watcher that shares the queue.
struct Member {
    queue: Arc<Queue>,
    number: u64,
}

impl Member {
    fn join(inbox: Inbox) -> notify::Result<Self> {
        let mut known = lock(&QUEUE);
        let queue = match known.upgrade() {
            Some(queue) => queue,
            None => {
                let queue = Arc::new(Queue::open()?);
                *known = Arc::downgrade(&queue);
                queue
            }
        };
        let number = lock(&queue.routes).join(inbox);
        Ok(Self { queue, number })
    }
}

impl Notifier for Member {
    fn watch(&mut self, directory: &Path) -> notify::Result<()> {
        let stamp = Stamp::of(directory).ok();
        // Held until the system has answered: another watcher could withdraw the same request.
        let mut notifier = lock(&self.queue.notifier);
        let is_replaced = lock(&self.queue.routes).request(directory, self.number, stamp);
        if is_replaced {
            // The earlier directory may exist under another name. It fails if that one is gone.
            let _ = notifier.unwatch(directory);
        }
        notifier.watch(directory, RecursiveMode::NonRecursive)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut notifier = lock(&self.queue.notifier);
        let unwanted = lock(&self.queue.routes).leave(self.number);
        for directory in unwanted {
            // It fails if the directory is gone.
            let _ = notifier.unwatch(&directory);
        }
    }
}

/// The notifier waits for its thread, and its thread for the routes: they are never locked during a request.
struct Queue {
    notifier: Mutex<RecommendedWatcher>,
    routes: Arc<Mutex<Routes>>,
}

impl Queue {
    fn open() -> notify::Result<Self> {
        let routes = Arc::default();
        let notifier = RecommendedWatcher::new(Router(Arc::clone(&routes)), Config::default())?;
        Ok(Self { notifier: Mutex::new(notifier), routes })
    }
}

/// The members of the queue and their directories.
#[derive(Default)]
struct Routes {
    joined: u64,
    inboxes: BTreeMap<u64, Inbox>,
    directories: BTreeMap<PathBuf, Requested>,
}

/// A directory that members requested.
#[derive(Default)]
struct Requested {
    stamp: Option<Stamp>,
    members: BTreeSet<u64>,
}

impl Routes {
    fn join(&mut self, inbox: Inbox) -> u64 {
        self.joined += 1;
        self.inboxes.insert(self.joined, inbox);
        self.joined
    }

    /// Records a request. True if another directory had this path at the last request.
    fn request(&mut self, directory: &Path, member: u64, stamp: Option<Stamp>) -> bool {
        let known = self.directories.entry(directory.to_owned()).or_default();
        known.members.insert(member);
        let is_replaced = stamp.is_some() && known.stamp.is_some() && stamp != known.stamp;
        known.stamp = stamp.or(known.stamp);
        is_replaced
    }

    /// Removes a member, and returns the directories that no other one requested.
    fn leave(&mut self, member: u64) -> Vec<PathBuf> {
        self.inboxes.remove(&member);
        let mut unwanted = Vec::new();
        self.directories.retain(|path, requested| {
            let is_last = requested.members.remove(&member) && requested.members.is_empty();
            if is_last {
                unwanted.push(path.clone());
            }
            !is_last
        });
        unwanted
    }

    /// Removes a directory that the system has forgotten as well. Members request it again when it returns; one that
    /// returned before the notification was read is requested already.
    fn forget(&mut self, directory: &Path) {
        let Some(requested) = self.directories.get(directory) else { return };
        let stamp = Stamp::of(directory).ok();
        if stamp.is_none() || stamp != requested.stamp {
            self.directories.remove(directory);
        }
    }

    /// Sends each sign to the members that requested its directory.
    fn deliver(&self, signs: &[Sign]) {
        let mut shares: BTreeMap<u64, Vec<Sign>> = BTreeMap::new();
        for sign in signs {
            let directories = [Some(sign.path.as_path()), sign.path.parent()].into_iter().flatten();
            let requested = directories.filter_map(|directory| self.directories.get(directory));
            let members: BTreeSet<u64> = requested.flat_map(|requested| requested.members.iter().copied()).collect();
            for member in members {
                shares.entry(member).or_default().push(sign.clone());
            }
        }
        for (member, signs) in shares {
            if let Some(inbox) = self.inboxes.get(&member) {
                inbox.forward(Ok(Reading::Signs(signs)));
            }
        }
    }
}

/// Runs on the thread of the notifier.
struct Router(Arc<Mutex<Routes>>);

impl EventHandler for Router {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let removed = match &event {
            Ok(event) if matches!(event.kind, EventKind::Remove(_)) => event.paths.clone(),
            Ok(_) | Err(_) => Vec::new(),
        };
        let mut routes = lock(&self.0);
        match event.map(native::read) {
            Ok(Reading::Signs(signs)) => routes.deliver(&signs),
            Ok(Reading::Lost) => routes.inboxes.values().for_each(|inbox| inbox.forward(Ok(Reading::Lost))),
            Err(error) => {
                let failure = || WatchError::of_notifications(&error);
                routes.inboxes.values().for_each(|inbox| inbox.forward(Err(failure())));
            }
        }
        for path in removed {
            routes.forget(&path);
        }
    }
}

/// No code panics between two related changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::inbox::Signal;

    fn member() -> (Member, Receiver<Signal>) {
        let (signals, received) = sync_channel(64);
        (Member::join(Inbox::new(signals)).expect("the system has a queue"), received)
    }

    /// True if a notification of the path arrives in time.
    fn hears(received: &Receiver<Signal>, path: &Path, time: Duration) -> bool {
        let until = Instant::now() + time;
        while let Ok(signal) = received.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if matches!(&signal, Signal::Signs(signs) if signs.iter().any(|sign| sign.path == path)) {
                return true;
            }
        }
        false
    }

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn watchers_share_a_queue_and_hear_only_their_directories() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [a, b] = ["a", "b"].map(|name| root.join(name));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        let ((mut one, heard_by_one), (mut other, heard_by_other)) = (member(), member());
        assert!(Arc::ptr_eq(&one.queue, &other.queue));
        one.watch(&a).unwrap();
        other.watch(&a).unwrap();
        other.watch(&b).unwrap();

        fs::write(a.join("m.py"), "").unwrap();
        fs::write(b.join("m.py"), "").unwrap();
        assert!(hears(&heard_by_other, &a.join("m.py"), LONG) && hears(&heard_by_other, &b.join("m.py"), LONG));
        assert!(!hears(&heard_by_one, &b.join("m.py"), SHORT));

        // The end of one leaves the other its notifications.
        drop(other);
        fs::write(a.join("n.py"), "").unwrap();
        assert!(hears(&heard_by_one, &a.join("n.py"), LONG));
    }

    #[test]
    fn a_directory_that_was_moved_away_is_not_heard_of_any_longer() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (a, moved) = (root.join("a"), root.join("moved"));
        fs::create_dir(&a).unwrap();
        let ((mut one, heard), (mut other, _)) = (member(), member());
        one.watch(&a).unwrap();
        other.watch(&a).unwrap();
        fs::rename(&a, &moved).unwrap();
        assert!(hears(&heard, &a, LONG));
        fs::create_dir(&a).unwrap();
        one.watch(&a).unwrap();
        fs::write(moved.join("m.py"), "").unwrap();
        assert!(!hears(&heard, &a.join("m.py"), SHORT));
        fs::write(a.join("n.py"), "").unwrap();
        assert!(hears(&heard, &a.join("n.py"), LONG));
    }

    #[test]
    fn a_directory_that_is_gone_is_forgotten() {
        let mut routes = Routes::default();
        let (signals, _received) = sync_channel(64);
        let member = routes.join(Inbox::new(signals));
        routes.request(Path::new("/a"), member, None);
        let mut router = Router(Arc::new(Mutex::new(routes)));
        let removed = EventKind::Remove(notify::event::RemoveKind::Folder);
        router.handle_event(Ok(Event::new(removed).add_path("/a".into())));
        assert!(lock(&router.0).directories.is_empty());
    }

    #[test]
    fn a_directory_that_returned_in_time_is_not_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let mut routes = Routes::default();
        let (signals, _received) = sync_channel(64);
        let member = routes.join(Inbox::new(signals));
        routes.request(directory.path(), member, Stamp::of(directory.path()).ok());
        routes.forget(directory.path());
        assert_eq!(routes.directories.len(), 1);
        routes.request(directory.path(), member, Stamp::of(Path::new("/")).ok());
        routes.forget(directory.path());
        assert!(routes.directories.is_empty());
    }
}
