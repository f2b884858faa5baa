//! Real files in a temporary directory, written the way editors and tools write them, with notifications and by polling.
//!
//! That something is *not* reported is shown by a sentinel: a wanted file written afterwards. Notifications keep their
//! order and one look sees everything, so whatever would have been reported is reported by then.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use protomcp_testing::{in_time, until};
use protomcp_watch::{Backend, Batch, DEFAULT_MAX_DELAY, Filter, Watch, WatchError, Watcher};
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;

const POLL: Duration = Duration::from_millis(20);

struct Bench {
    root: PathBuf,
    batches: Receiver<Batch>,
    watcher: Watcher,
    _directory: TempDir,
}

impl Bench {
    /// Prepares the directory, then watches it.
    fn new(poll: bool, prepare: impl FnOnce(&Path)) -> Self {
        Self::with(poll, prepare, |watch| watch)
    }

    fn with(poll: bool, prepare: impl FnOnce(&Path), configure: impl FnOnce(Watch) -> Watch) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("it exists");
        fs::write(root.join("tools.py"), "0").expect("writable");
        prepare(&root);
        let watch = configure(Watch::file(root.join("tools.py")));
        let watch = if poll { watch.poll_every(POLL) } else { watch };
        let (watcher, batches) = Watcher::spawn(watch).expect("it can be watched");
        Self { root, batches, watcher, _directory: directory }
    }

    /// Watches for what is not older than the moment that `prepare` gives.
    fn since(poll: bool, prepare: impl FnOnce(&Path) -> SystemTime) -> Self {
        let moment = Cell::new(None);
        let prepare = |root: &Path| moment.set(Some(prepare(root)));
        Self::with(poll, prepare, |watch| Watch { since: moment.get(), ..watch })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("writable");
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("it can be renamed");
    }

    /// Waits until all of these were reported; gives everything that was.
    async fn reported(&mut self, names: &[&str]) -> BTreeSet<PathBuf> {
        let mut missing = names.iter().map(|name| self.path(name)).collect::<BTreeSet<_>>();
        let mut seen = BTreeSet::new();
        while !missing.is_empty() {
            let batch = self.batch().await;
            missing.retain(|path| !batch.paths.contains(path));
            seen.extend(batch.paths);
        }
        seen
    }

    async fn batch(&mut self) -> Batch {
        in_time(self.batches.recv()).await.expect("a batch in time").expect("it runs")
    }

    /// Everything reported up to a sentinel that is written now, without the sentinel.
    async fn reported_by_now(&mut self) -> BTreeSet<PathBuf> {
        self.write("sentinel.py", "now");
        let mut seen = self.reported(&["sentinel.py"]).await;
        seen.remove(&self.path("sentinel.py"));
        seen
    }
}

/// Each test runs with notifications and by polling.
macro_rules! both_ways {
    ($($(#[$doc:meta])* async fn $name:ident($poll:ident: bool) $body:block)*) => {
        $(
            mod $name {
                use super::*;

                async fn check($poll: bool) $body

                #[tokio::test]
                async fn with_notifications() {
                    check(false).await;
                }

                #[tokio::test]
                async fn by_polling() {
                    check(true).await;
                }
            }
        )*
    };
}

#[cfg(unix)]
mod in_use;

both_ways! {
    async fn a_plain_write_is_reported(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        bench.write("tools.py", "1 longer");
        assert_eq!(bench.reported(&["tools.py"]).await, [bench.path("tools.py")].into());
    }

    async fn a_sibling_module_is_reported(poll: bool) {
        let mut bench = Bench::new(poll, |root| fs::write(root.join("lib.py"), "").expect("writable"));
        bench.write("lib.py", "changed");
        bench.reported(&["lib.py"]).await;
        fs::remove_file(bench.path("lib.py")).expect("it is there");
        bench.reported(&["lib.py"]).await;
    }

    async fn a_new_file_renamed_over_the_old_one_is_reported(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        for round in 0..3 {
            bench.write(".tools.py.tmp", "same");
            bench.rename(".tools.py.tmp", "tools.py");
            assert_eq!(bench.reported(&["tools.py"]).await, [bench.path("tools.py")].into(), "round {round}");
        }
    }

    async fn the_way_vim_saves_is_reported_once_the_file_is_back(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        bench.write("4913", "");
        fs::remove_file(bench.path("4913")).expect("it is there");
        bench.rename("tools.py", "tools.py~");
        bench.write("tools.py", "from vim");
        fs::remove_file(bench.path("tools.py~")).expect("it is there");
        assert_eq!(bench.reported(&["tools.py"]).await, [bench.path("tools.py")].into());
    }

    async fn a_file_deleted_and_written_again_is_reported(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        fs::remove_file(bench.path("tools.py")).expect("it is there");
        bench.reported(&["tools.py"]).await;
        bench.write("tools.py", "again");
        bench.reported(&["tools.py"]).await;
    }

    async fn a_file_renamed_away_is_reported_under_both_names(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        bench.rename("tools.py", "other.py");
        bench.reported(&["tools.py", "other.py"]).await;
        bench.rename("other.py", "other.txt");
        assert_eq!(bench.reported(&["other.py"]).await, [bench.path("other.py")].into());
    }

    async fn a_new_directory_is_watched_with_what_is_already_in_it(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        fs::create_dir_all(bench.path("a/b/c")).expect("writable");
        bench.write("a/b/c/deep.py", "1");
        bench.reported(&["a/b/c/deep.py"]).await;
        bench.write("a/b/c/deep.py", "changed");
        bench.reported(&["a/b/c/deep.py"]).await;
        bench.write("a/b/late.py", "1");
        bench.reported(&["a/b/late.py"]).await;
    }

    async fn a_renamed_directory_is_reported_and_watched_again(poll: bool) {
        let mut bench = Bench::new(poll, |root| {
            fs::create_dir_all(root.join("old/inner")).expect("writable");
            fs::write(root.join("old/inner/m.py"), "").expect("writable");
        });
        bench.rename("old", "new");
        bench.reported(&["old/inner/m.py", "new/inner/m.py"]).await;
        bench.write("new/inner/m.py", "changed");
        bench.reported(&["new/inner/m.py"]).await;
    }

    async fn a_directory_moved_in_and_out_again_is_reported(poll: bool) {
        let outside = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(outside.path().join("d")).expect("writable");
        fs::write(outside.path().join("d/m.py"), "").expect("writable");
        let mut bench = Bench::new(poll, |_| {});
        fs::rename(outside.path().join("d"), bench.path("d")).expect("same file system");
        bench.reported(&["d/m.py"]).await;
        fs::rename(bench.path("d"), outside.path().join("d")).expect("same file system");
        bench.reported(&["d/m.py"]).await;
        fs::write(outside.path().join("d/m.py"), "no longer ours").expect("writable");
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
    }

    async fn a_directory_removed_and_made_again_is_watched_again(poll: bool) {
        let mut bench = Bench::new(poll, |root| {
            fs::create_dir(root.join("d")).expect("writable");
            fs::write(root.join("d/m.py"), "").expect("writable");
        });
        for round in 0..3 {
            fs::remove_dir_all(bench.path("d")).expect("it is there");
            bench.reported(&["d/m.py"]).await;
            fs::create_dir(bench.path("d")).expect("writable");
            bench.write("d/m.py", "again");
            bench.reported(&["d/m.py"]).await;
            bench.write("d/m.py", &format!("changed in round {round}"));
            bench.reported(&["d/m.py"]).await;
        }
    }

    async fn ignored_places_are_silent(poll: bool) {
        let mut bench = Bench::new(poll, |root| {
            fs::write(root.join(".gitignore"), "gen_*.py\n/build/\n").expect("writable");
            for directory in ["node_modules/x", "__pycache__", ".git/x", "venv", ".venv", "target", "build"] {
                fs::create_dir_all(root.join(directory)).expect("writable");
            }
        });
        for name in [
            "node_modules/x/m.py", "__pycache__/m.py", ".git/x/m.py", "venv/m.py", ".venv/m.py", "target/m.py",
            "build/m.py", "gen_1.py", "notes.txt", "tools.py~", ".#tools.py", "4913", "tools.pyc",
        ] {
            bench.write(name, "1");
        }
        for directory in [".cache/deep", "env/bin", "env/lib/python3.11/site-packages"] {
            fs::create_dir_all(bench.path(directory)).expect("writable");
        }
        let modules = (0..300).map(|number| format!("env/lib/python3.11/site-packages/m{number}.py"));
        let others = [".cache/deep/m.py", "env/pyvenv.cfg", "env/bin/activate_this.py"].map(str::to_owned);
        others.into_iter().chain(modules).for_each(|name| bench.write(&name, "1"));
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
    }

    async fn reading_a_file_and_compiling_it_is_silent(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        for _ in 0..3 {
            fs::read(bench.path("tools.py")).expect("it is there");
            fs::read_dir(&bench.root).expect("it is there").count();
        }
        fs::create_dir(bench.path("__pycache__")).expect("writable");
        bench.write("__pycache__/tools.cpython-311.pyc.1", "1");
        bench.rename("__pycache__/tools.cpython-311.pyc.1", "__pycache__/tools.cpython-311.pyc");
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
    }

    async fn changed_permissions_are_silent_and_a_changed_time_is_not(poll: bool) {
        let mut bench = Bench::new(poll, |_| {});
        let mut permissions = fs::metadata(bench.path("tools.py")).expect("it is there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(bench.path("tools.py"), permissions.clone()).expect("ours");
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
        #[expect(clippy::permissions_set_readonly_false, reason = "back to a mode in which it can be opened")]
        permissions.set_readonly(false);
        fs::set_permissions(bench.path("tools.py"), permissions).expect("ours");
        let file = fs::File::options().append(true).open(bench.path("tools.py")).expect("it is there");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("ours");
        bench.reported(&["tools.py"]).await;
    }

    async fn new_rules_in_a_gitignore_count_from_then_on(poll: bool) {
        let mut bench = Bench::new(poll, |root| {
            fs::create_dir(root.join("gen")).expect("writable");
            fs::write(root.join("gen/m.py"), "").expect("writable");
        });
        bench.write(".gitignore", "gen/\n");
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
        bench.write("gen/m.py", "unseen");
        bench.write("sentinel.py", "and away");
        assert_eq!(bench.reported(&["sentinel.py"]).await, [bench.path("sentinel.py")].into());
        // A revealed file counts: it cannot be distinguished from a new one.
        fs::remove_file(bench.path(".gitignore")).expect("it is there");
        bench.reported(&["gen/m.py"]).await;
        bench.write("gen/m.py", "seen again");
        bench.reported(&["gen/m.py"]).await;
    }

    async fn the_rules_of_the_repository_above_count(poll: bool) {
        let repository = tempfile::tempdir().expect("a temporary directory");
        let root = repository.path().canonicalize().expect("it exists").join("sub/project");
        fs::create_dir_all(repository.path().join(".git")).expect("writable");
        fs::create_dir_all(&root).expect("writable");
        fs::write(repository.path().join(".gitignore"), "gen.py\n").expect("writable");
        fs::write(repository.path().join("sub/.gitignore"), "!kept/gen.py\ntools.py\n").expect("writable");
        fs::write(root.join("tools.py"), "").expect("writable");
        fs::create_dir(root.join("kept")).expect("writable");
        let mut watch = Watch::file(root.join("tools.py"));
        watch.poll = poll.then_some(POLL);
        let (watcher, batches) = Watcher::spawn(watch).expect("it can be watched");
        let mut bench = Bench { root, batches, watcher, _directory: repository };
        bench.write("gen.py", "ignored");
        assert_eq!(bench.reported_by_now().await, BTreeSet::new());
        // The entry file counts although it is ignored.
        bench.write("tools.py", "changed");
        assert_eq!(bench.reported(&["tools.py"]).await, [bench.path("tools.py")].into());
    }

    async fn a_burst_of_saves_is_one_batch_or_two(poll: bool) {
        let mut bench = Bench::with(poll, |_| {}, |watch| Watch { debounce: Duration::from_millis(500), ..watch });
        let begun = std::time::Instant::now();
        for round in 0..10 {
            bench.write("tools.py", &"x".repeat(round + 2));
        }
        bench.write("sentinel.py", "last");
        let mut batches = 1;
        while !bench.batch().await.paths.contains(&bench.path("sentinel.py")) {
            batches += 1;
        }
        // A batch grows for a limited time, and a burst that takes long, on a busy machine, has more of them.
        assert!(batches <= begun.elapsed().as_millis() / DEFAULT_MAX_DELAY.as_millis(), "{batches} batches");
    }

    async fn a_reader_that_is_late_misses_nothing(poll: bool) {
        let mut bench = Bench::with(poll, |_| {}, |watch| Watch { debounce: Duration::ZERO, ..watch });
        for name in ["a.py", "b.py", "c.py"] {
            bench.write(name, "1");
            until("a batch lies there", || !bench.batches.is_empty()).await;
        }
        bench.reported(&["a.py", "b.py", "c.py"]).await;
    }

    async fn dropping_the_watcher_ends_the_batches(poll: bool) {
        let bench = Bench::new(poll, |_| {});
        let Bench { watcher, mut batches, .. } = bench;
        drop(watcher);
        assert_eq!(batches.recv().await, None);
    }

    async fn a_root_that_is_replaced_is_watched_again(poll: bool) {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let root = parent.path().canonicalize().expect("it exists").join("project");
        fs::create_dir(&root).expect("writable");
        fs::write(root.join("tools.py"), "").expect("writable");
        let mut watch = Watch::file(root.join("tools.py"));
        watch.poll = poll.then_some(POLL);
        let (watcher, batches) = Watcher::spawn(watch).expect("it can be watched");
        let mut bench = Bench { root: root.clone(), batches, watcher, _directory: parent };
        for round in 0..2 {
            fs::rename(&root, root.with_file_name(format!("old{round}"))).expect("ours");
            bench.reported(&["tools.py"]).await;
            fs::create_dir(&root).expect("writable");
            bench.write("tools.py", "in the new one");
            bench.reported(&["tools.py"]).await;
            bench.write("tools.py", &format!("changed in round {round}"));
            bench.reported(&["tools.py"]).await;
        }
    }
}

#[cfg(unix)]
both_ways! {
    async fn an_entry_file_that_is_a_link_is_followed_link_by_link(poll: bool) {
        use std::os::unix::fs::symlink;
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = elsewhere.path().canonicalize().expect("it exists");
        fs::create_dir_all(elsewhere.join("one")).expect("writable");
        fs::create_dir_all(elsewhere.join("two")).expect("writable");
        fs::write(elsewhere.join("two/real.py"), "0").expect("writable");
        fs::write(elsewhere.join("two/other.py"), "0").expect("writable");
        symlink("../two/real.py", elsewhere.join("one/link.py")).expect("writable");
        let target = elsewhere.join("one/link.py");
        let mut bench = Bench::new(poll, |root| {
            fs::remove_file(root.join("tools.py")).expect("it is there");
            symlink(&target, root.join("tools.py")).expect("writable");
        });
        let real = elsewhere.join("two/real.py");
        let real = real.to_str().expect("text");
        // Only the target counts there, not what lies next to it.
        fs::write(elsewhere.join("two/other.py"), "other").expect("writable");
        fs::write(real, "changed").expect("writable");
        assert!(!bench.reported(&[real]).await.contains(&elsewhere.join("two/other.py")));
        // Replaced by renaming, as editors do.
        fs::write(elsewhere.join("two/tmp"), "renamed over").expect("writable");
        fs::rename(elsewhere.join("two/tmp"), real).expect("ours");
        bench.reported(&[real]).await;
        // The link itself leads elsewhere now.
        fs::remove_file(elsewhere.join("one/link.py")).expect("it is there");
        symlink("../two/other.py", elsewhere.join("one/link.py")).expect("writable");
        bench.reported(&[target.to_str().expect("text")]).await;
        fs::write(elsewhere.join("two/other.py"), "followed").expect("writable");
        bench.reported(&[elsewhere.join("two/other.py").to_str().expect("text")]).await;
    }
}

#[tokio::test]
async fn relative_names_are_understood() {
    let directory = tempfile::tempdir().expect("a directory outside of the tree, at which other tests look");
    let root = directory.path().canonicalize().expect("it exists");
    let up = "../".repeat(std::env::current_dir().expect("it exists").ancestors().count() - 1);
    let name = Path::new(&up).join(root.strip_prefix("/").expect("it is absolute")).join("tools");
    fs::write(&name, "").expect("writable");
    let (watcher, batches) = Watcher::spawn(Watch::file(&name)).expect("it can be watched");
    let mut bench = Bench { root, batches, watcher, _directory: directory };
    bench.write("tools", "a program without extension");
    assert_eq!(bench.reported(&["tools"]).await, [bench.path("tools")].into());
}

#[tokio::test]
async fn changes_since_a_given_time_are_reported() {
    for poll in [false, true] {
        let mut bench = Bench::since(poll, |root| {
            for old in ["old.py", "replacing.py"] {
                fs::write(root.join(old), "old").expect("writable");
            }
            let modified = |name: &str| fs::metadata(root.join(name)).and_then(|file| file.modified()).expect("a time");
            // The clock of a file system ticks every few milliseconds.
            let before = modified("replacing.py");
            let moment = loop {
                fs::write(root.join("new.py"), "new").expect("writable");
                let now = modified("new.py");
                if now > before {
                    break now;
                }
            };
            fs::rename(root.join("replacing.py"), root.join("replaced.py")).expect("ours");
            moment
        });
        let found = bench.reported(&["new.py", "replaced.py"]).await;
        assert!(!found.contains(&bench.path("old.py")) && !found.contains(&bench.path("tools.py")), "{found:?}");
    }
}

#[test]
fn the_backend_is_the_one_asked_for() {
    assert!(matches!(Bench::new(false, |_| {}).watcher.backend(), Backend::Native | Backend::NativeAndPoll { .. }));
    let polling = Bench::new(true, |_| {});
    assert!(matches!(polling.watcher.backend(), Backend::Poll { every: POLL, because: None }));
    let busy = Bench::with(false, |_| {}, |watch| watch.poll_every(Duration::ZERO));
    assert!(matches!(busy.watcher.backend(), Backend::Poll { every, .. } if *every == Duration::from_millis(10)));
}

#[test]
fn a_root_that_is_a_file_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let missing = directory.path().join("missing");
    let failure = Watcher::spawn(Watch::directory(&missing, Filter::new())).expect_err("it is missing");
    assert!(matches!(failure, WatchError::Missing { path } if path == missing));
    let file = directory.path().join("file");
    fs::write(&file, "").expect("writable");
    let failure = Watcher::spawn(Watch::directory(&file, Filter::new())).expect_err("it is a file");
    assert!(matches!(failure, WatchError::NotADirectory { path } if path == file));
}
