//! The driver with failing notifications, from a notifier of the tests.

use std::fs;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

use notify::event::{DataChange, EventKind, Flag, ModifyKind};
use notify::{Event, EventHandler};
use protomcp_testing::in_time;
use tempfile::TempDir;

use super::*;
use crate::watcher::Watcher;

/// Grants this many requests and refuses the others.
struct Granting(usize, fn() -> notify::Error);

impl Notifier for Granting {
    fn watch(&mut self, _: &Path) -> notify::Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(self.1)?;
        Ok(())
    }
}

struct Bench {
    root: PathBuf,
    batches: mpsc::Receiver<Batch>,
    watcher: Watcher,
    inbox: Arc<Mutex<Option<Inbox>>>,
    _directory: TempDir,
}

impl Bench {
    fn new(open: impl Fn() -> notify::Result<Granting> + Send + 'static) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("it exists");
        fs::create_dir(root.join("sub")).expect("writable");
        fs::write(root.join("tools.py"), "").expect("writable");
        let inbox = Arc::new(Mutex::new(None));
        let opener: Opener = Box::new({
            let inbox = Arc::clone(&inbox);
            move |given| {
                *inbox.lock().expect("no panic holds it") = Some(given);
                Ok(Box::new(open()?))
            }
        });
        let (watcher, batches) = Watcher::spawn_with(Watch::file(root.join("tools.py")), opener).expect("it starts");
        Self { root, batches, watcher, inbox, _directory: directory }
    }

    fn notify(&self, event: notify::Result<Event>) {
        self.inbox.lock().expect("no panic holds it").as_mut().expect("it was opened").handle_event(event);
    }

    /// Writes a file and waits until it is reported.
    async fn write_is_reported(&mut self, name: &str) -> Batch {
        fs::write(self.root.join(name), "written").expect("writable");
        self.is_reported(name).await
    }

    async fn is_reported(&mut self, name: &str) -> Batch {
        loop {
            let batch = in_time(self.batches.recv()).await.expect("in time").expect("it runs");
            if batch.paths.contains(&self.root.join(name)) {
                return batch;
            }
        }
    }
}

fn limit() -> notify::Error {
    notify::Error::new(notify::ErrorKind::MaxFilesWatch)
}

fn gone() -> notify::Error {
    notify::Error::new(notify::ErrorKind::PathNotFound)
}

#[tokio::test]
async fn without_a_queue_for_notifications_it_polls_and_says_why() {
    let mut bench = Bench::new(|| Err(notify::Error::io(std::io::Error::from_raw_os_error(24))));
    let Backend::Poll { every: DEFAULT_POLL, because: Some(WatchError::NoInstancesLeft) } = bench.watcher.backend()
    else {
        panic!("{:?}", bench.watcher.backend());
    };
    bench.write_is_reported("m.py").await;
}

#[tokio::test]
async fn without_watches_for_all_directories_it_polls_and_says_why() {
    let mut bench = Bench::new(|| Ok(Granting(1, limit)));
    let Backend::Poll { because: Some(WatchError::NoWatchesLeft), .. } = bench.watcher.backend() else {
        panic!("{:?}", bench.watcher.backend());
    };
    bench.write_is_reported("sub/m.py").await;
}

#[tokio::test]
async fn a_directory_that_is_gone_again_does_not_cause_polling() {
    let bench = Bench::new(|| Ok(Granting(0, gone)));
    assert!(matches!(bench.watcher.backend(), Backend::Native | Backend::NativeAndPoll { .. }));
}

#[cfg(unix)]
#[tokio::test]
async fn links_in_a_circle_do_not_cause_polling() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for (link, target) in [("one", "two"), ("two", "one"), ("tools.py", "one/tools.py")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let (watcher, mut batches) = Watcher::spawn(Watch::file(root.join("tools.py"))).unwrap();
    assert!(matches!(watcher.backend(), Backend::Native | Backend::NativeAndPoll { .. }), "{:?}", watcher.backend());
    fs::remove_file(root.join("tools.py")).unwrap();
    fs::write(root.join("tools.py"), "").unwrap();
    let batch = in_time(batches.recv()).await.expect("in time").expect("it runs");
    assert!(batch.paths.contains(&root.join("tools.py")), "{batch:?}");
}

/// `/proc` is a mount point on every Linux, and stands for a file that is mounted by itself: its directory has no
/// notification of its changes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_named_file_that_is_a_mount_point_is_polled() {
    let mut bench = Bench::new(|| Ok(Granting(9, limit)));
    let tools = bench.root.join("tools.py");
    fs::remove_file(&tools).unwrap();
    std::os::unix::fs::symlink("/proc", &tools).unwrap();
    bench.notify(Ok(changed(&tools)));
    // There is no notification of this one.
    bench.write_is_reported("m.py").await;
    let (watcher, _batches) = Watcher::spawn(Watch::file(&tools)).unwrap();
    let backend = watcher.backend();
    assert!(matches!(backend, Backend::NativeAndPoll { every: DEFAULT_POLL }), "{backend:?}");
}

#[tokio::test]
async fn running_out_of_watches_later_leads_to_polling() {
    let mut bench = Bench::new(|| Ok(Granting(2, limit)));
    assert!(matches!(bench.watcher.backend(), Backend::Native | Backend::NativeAndPoll { .. }));
    fs::create_dir(bench.root.join("new")).unwrap();
    bench.notify(Ok(changed(&bench.root.join("new"))));
    // There is no notification of this one.
    bench.write_is_reported("new/m.py").await;
}

#[tokio::test]
async fn notifications_that_break_lead_to_polling() {
    let mut bench = Bench::new(|| Ok(Granting(9, limit)));
    bench.notify(Err(notify::Error::generic("broken")));
    bench.write_is_reported("m.py").await;
}

#[tokio::test]
async fn lost_notifications_lead_to_a_look_at_everything() {
    let mut bench = Bench::new(|| Ok(Granting(9, limit)));
    fs::write(bench.root.join("m.py"), "").unwrap();
    bench.notify(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert!(bench.is_reported("m.py").await.overflow);
}

#[tokio::test]
async fn a_root_that_was_lost_is_asked_for_anew() {
    let opened = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut bench = Bench::new({
        let opened = Arc::clone(&opened);
        move || {
            // A second attempt has nothing to open.
            if opened.fetch_add(1, Ordering::Relaxed) == 0 { Ok(Granting(9, limit)) } else { Err(limit()) }
        }
    });
    bench.notify(Ok(changed(&bench.root)));
    bench.write_is_reported("m.py").await;
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

#[test]
fn what_does_not_fit_is_marked_as_lost() {
    let (signals, received) = sync_channel(1);
    let mut inbox = Inbox::new(signals);
    inbox.handle_event(Ok(Event::new(EventKind::Access(notify::event::AccessKind::Read)).add_path("a".into())));
    inbox.handle_event(Ok(changed(Path::new("a"))));
    assert!(!inbox.lost.load(Ordering::Relaxed));
    inbox.handle_event(Ok(changed(Path::new("b"))));
    assert!(inbox.lost.load(Ordering::Relaxed));
    let Ok(Signal::Signs(signs)) = received.try_recv() else { panic!("one fits") };
    assert_eq!(signs[0].path, Path::new("a"));
}

#[test]
fn a_batch_waits_for_a_busy_reader_and_grows() {
    let directory = tempfile::tempdir().unwrap();
    let (signals, received) = sync_channel(1);
    let (batches, mut reader) = mpsc::channel(1);
    let file = directory.path().join("tools.py");
    fs::write(&file, "").expect("writable");
    let watch = Watch { debounce: Duration::ZERO, ..Watch::file(file) };
    let open: Opener = Box::new(|_| Ok(Box::new(Granting(9, limit))));
    let ends = Ends { signals: received, batches, stop: Arc::default() };
    let (mut driver, _) = Driver::start(watch, open, Inbox::new(signals), ends);
    assert!(driver.notifier.is_some());
    for name in ["a", "b", "c"] {
        driver.report(vec![name.into()]);
        driver.deliver();
    }
    assert!(driver.wake_at().is_some_and(|at| at <= Instant::now() + BUSY_READER), "it tries again");
    assert_eq!(reader.try_recv().unwrap().paths, ["a".into()].into());
    assert!(reader.try_recv().is_err());
    driver.deliver();
    assert_eq!(reader.try_recv().unwrap().paths, ["b".into(), "c".into()].into());
    driver.deliver();
    assert!(reader.try_recv().is_err());
    driver.poll = None;
    driver.schedule_scan();
    assert_eq!(driver.wake_at(), None, "nothing is left to wait for");
}

#[cfg(target_os = "linux")]
#[test]
fn a_root_that_differs_each_time_is_compared_after_a_pause() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("project");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("tools.py"), "").unwrap();
    let (signals, received) = sync_channel(1);
    let (batches, _reader) = mpsc::channel(1);
    let open: Opener = Box::new(|_| Ok(Box::new(Granting(9, limit))));
    let ends = Ends { signals: received, batches, stop: Arc::default() };
    let (mut driver, _) = Driver::start(Watch::file(root.join("tools.py")), open, Inbox::new(signals), ends);
    driver.follow_root();
    assert!(driver.notifier.is_some() && driver.wake_at().is_none(), "the root is as it was");
    let _in_use = fs::File::open(&root).unwrap();
    fs::remove_dir_all(&root).unwrap();
    fs::create_dir(&root).unwrap();
    driver.follow_root();
    assert!(driver.notifier.is_none() && driver.root_lost, "the notifications are opened again");
    // Without a scan it differs still.
    driver.next_look = None;
    driver.reopen_root();
    driver.follow_root();
    assert!(driver.notifier.is_some(), "the next comparison waits");
    let at = driver.wake_at().expect("it will come");
    assert!(at > Instant::now() && at <= Instant::now() + DEFAULT_POLL);
    driver.next_comparison = Instant::now();
    driver.follow_root();
    assert!(driver.notifier.is_none(), "the time is over");
}

fn changed(path: &Path) -> Event {
    Event::new(EventKind::Modify(ModifyKind::Data(DataChange::Any))).add_path(path.to_owned())
}
