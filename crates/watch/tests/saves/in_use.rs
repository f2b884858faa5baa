//! Directories in which a program runs while they are removed and made again, as `git switch` does.

use super::*;

/// Ends with this value.
struct Running(std::process::Child);

impl Running {
    /// A program that runs in this directory.
    fn inside(directory: &Path) -> Self {
        let mut command = std::process::Command::new("sleep");
        Self(command.arg("1000").current_dir(directory).spawn().expect("it starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

both_ways! {
    /// While a program runs in a directory, Linux has no notification of its removal.
    async fn a_root_in_use_that_is_made_again_is_watched_again(poll: bool) {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let root = parent.path().canonicalize().expect("it exists").join("project");
        let make = |text: &str| {
            fs::create_dir(&root).expect("writable");
            fs::write(root.join("tools.py"), text).expect("writable");
        };
        make("first");
        let mut watch = Watch::file(root.join("tools.py"));
        watch.poll = poll.then_some(POLL);
        let (watcher, batches) = Watcher::spawn(watch).expect("it can be watched");
        let mut bench = Bench { root: root.clone(), batches, watcher, _directory: parent };
        for is_reported_between in [true, false, true] {
            let running = Running::inside(&root);
            fs::remove_file(root.join("tools.py")).expect("it is there");
            if is_reported_between {
                bench.reported(&["tools.py"]).await;
            }
            fs::remove_dir(&root).expect("it is empty");
            make("made again");
            bench.reported(&["tools.py"]).await;
            for round in 0..2 {
                bench.write("tools.py", &format!("changed in round {round}"));
                bench.reported(&["tools.py"]).await;
            }
            drop(running);
        }
    }

    async fn a_directory_in_use_that_is_made_again_is_watched_again(poll: bool) {
        let mut bench = Bench::new(poll, |root| {
            fs::create_dir(root.join("d")).expect("writable");
            fs::write(root.join("d/m.py"), "").expect("writable");
        });
        let running = Running::inside(&bench.path("d"));
        fs::remove_dir_all(bench.path("d")).expect("it is there");
        fs::create_dir(bench.path("d")).expect("writable");
        bench.write("d/m.py", "again");
        bench.reported(&["d/m.py"]).await;
        for round in 0..2 {
            bench.write("d/m.py", &format!("changed in round {round}"));
            bench.reported(&["d/m.py"]).await;
        }
        drop(running);
    }
}
