//! Finds and ends every descendant of a process.
//!
//! The kernel lists children per thread (`/proc/<pid>/task/<tid>/children`), so the cost of a walk depends on the
//! family, not on the machine. A list may miss a child that is born or dies during the walk; therefore every process
//! found is first stopped, so that it can neither fork nor reap, and the walk repeats until it finds no new one. Only
//! then are they killed. The guardian, as the subreaper of the family, knows exactly when it is done: it has no
//! children.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, wait};

use crate::exit::Status;
use crate::os;

/// The state of the children after reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// There is no child, dead or alive; for a subreaper: no descendant.
    Nobody,
    /// At least one child lives.
    Somebody,
}

/// Reaps every dead child of this process and reports each one.
pub(crate) fn reap(mut ended: impl FnMut(Pid, Status)) -> Leftover {
    // __WALL: also children that were cloned with another signal than SIGCHLD.
    let options = WaitOptions::NOHANG | WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    loop {
        match wait(options) {
            Ok(Some((pid, status))) => {
                let status = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Status::Code(code),
                    (None, Some(signal)) => Status::Signal(signal),
                    (None, None) => continue,
                };
                ended(pid, status);
            }
            Ok(None) => return Leftover::Somebody,
            Err(Errno::INTR) => {}
            Err(_) => return Leftover::Nobody,
        }
    }
}

/// Kills all descendants of this process, which must be their subreaper, and reaps them.
///
/// `children` becomes readable when a child ends. Returns when no descendant is left, or only those that cannot be
/// killed: processes of other users, and processes that the kernel does not release within [`WAIT_LIMIT`].
pub(crate) fn end_all(children: &OwnedFd, mut ended: impl FnMut(Pid, Status)) {
    let me = rustix::process::getpid();
    let mut seen = HashSet::new();
    let mut progress = Instant::now();
    let mut pause = Duration::from_millis(1);
    while reap(&mut ended) == Leftover::Somebody {
        let found = kill_below(me);
        if !found.all.is_empty() && found.all.len() == found.refused {
            return;
        }
        if found.all.iter().filter(|pid| seen.insert(**pid)).count() > 0 {
            progress = Instant::now();
        } else if progress.elapsed() > WAIT_LIMIT {
            return;
        }
        await_child(children, pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The time in which killed processes must vanish after the last one was found.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// The processes found below a process, and the number of processes of other users.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) all: Vec<Pid>,
    pub(crate) refused: usize,
}

/// Stops, then kills, every descendant of `root` that can be found now. `root` itself is spared.
pub(crate) fn kill_below(root: Pid) -> Found {
    let found = stop_below(root);
    // Stopped parents cannot reap, so these ids are still theirs.
    for pid in &found.all {
        let _ = kill_process(*pid, Signal::KILL);
    }
    found
}

/// Stops the descendants of `root`.
fn stop_below(root: Pid) -> Found {
    stop_all(|visit| walk(root, visit), |pid, parent| stop(root, pid, parent))
}

/// Stops the processes of each walk until a walk finds no new one: a process may start another one before it is
/// stopped.
fn stop_all(
    mut walk: impl FnMut(&mut dyn FnMut(Pid, Pid) -> bool),
    mut stop: impl FnMut(Pid, Pid) -> Stopped,
) -> Found {
    let mut found = Found::default();
    let mut known = HashSet::new();
    for _ in 0..MAX_PASSES {
        let before = known.len();
        walk(&mut |pid, parent| {
            if known.insert(pid) {
                match stop(pid, parent) {
                    Stopped::Yes => {}
                    Stopped::Refused => found.refused += 1,
                    Stopped::NotOurs => return false,
                }
                found.all.push(pid);
            }
            true
        });
        if known.len() == before {
            break;
        }
    }
    found
}

/// A family that grows faster than it is stopped is killed in several rounds.
const MAX_PASSES: usize = 32;

enum Stopped {
    Yes,
    /// The process belongs to another user.
    Refused,
    /// The process has ended, and its id may have been reused.
    NotOurs,
}

fn stop(root: Pid, pid: Pid, parent: Pid) -> Stopped {
    let result = if parent == rustix::process::getpid() {
        // Our own child keeps its id until we reap it.
        kill_process(pid, Signal::STOP)
    } else {
        let handle = pidfd_open(pid, PidfdFlags::empty());
        // The handle is fixed now: if its owner still has that parent (or was adopted by us), it is the right process.
        if !parent_of(pid).is_some_and(|now| now == parent || now == root) {
            return Stopped::NotOurs;
        }
        match handle {
            Ok(handle) => pidfd_send_signal(handle, Signal::STOP),
            Err(Errno::SRCH) => return Stopped::NotOurs,
            Err(_) => kill_process(pid, Signal::STOP),
        }
    };
    match result {
        Ok(()) => Stopped::Yes,
        Err(Errno::PERM) => Stopped::Refused,
        Err(_) => Stopped::NotOurs,
    }
}

/// Visits the descendants of `root`, parents before children; `visit` returns true to descend.
fn walk(root: Pid, visit: &mut dyn FnMut(Pid, Pid) -> bool) {
    let table = (!kernel_lists_children()).then(Table::read);
    let mut waiting = vec![root];
    let mut visited = HashSet::from([root]);
    while let Some(parent) = waiting.pop() {
        let children = match &table {
            None => listed_children(parent),
            Some(table) => table.children(parent),
        };
        for pid in children {
            if visited.insert(pid) && visit(pid, parent) {
                waiting.push(pid);
            }
        }
    }
}

/// Kernels may be built without the lists.
fn kernel_lists_children() -> bool {
    Path::new("/proc/thread-self/children").exists()
}

fn listed_children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid())) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(parse_pid).collect::<Vec<_>>()).collect()
}

/// The parent of every process of the machine.
struct Table(HashMap<Pid, Vec<Pid>>);

impl Table {
    fn read() -> Self {
        let mut table: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for pid in all_processes() {
            if let Some(parent) = parent_of(pid) {
                table.entry(parent).or_default().push(pid);
            }
        }
        Self(table)
    }

    fn children(&self, parent: Pid) -> Vec<Pid> {
        self.0.get(&parent).cloned().unwrap_or_default()
    }
}

/// Kills the remains of a dead guardian, as far as they can be found in a few rounds: every process of its session, and
/// every process with this variable (`NAME=value`) in its environment, in any session.
pub(crate) fn kill_remains(guardian: Pid, mark: Option<&[u8]>) {
    let is_left = |pid: Pid| session_of(pid) == Some(guardian) || mark.is_some_and(|mark| carries(pid, mark));
    for _ in 0..MAX_PASSES {
        let left: Vec<Pid> = all_processes().filter(|pid| is_left(*pid)).collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            // The handle is fixed before the second check, so that the check and the signal concern the same process.
            if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
                && is_left(pid)
            {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        }
    }
}

/// True if a live process was started with this variable. The environment of other users is not readable.
fn carries(pid: Pid, mark: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark)
}

fn all_processes() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| parse_pid(entry.file_name().to_str()?))
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

fn parent_of(pid: Pid) -> Option<Pid> {
    field(&stat(pid)?, 1)
}

fn session_of(pid: Pid) -> Option<Pid> {
    let stat = stat(pid)?;
    // A zombie cannot be killed again.
    (!is_dead(&stat)).then(|| field(&stat, 3))?
}

fn stat(pid: Pid) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()
}

/// The fields after the name: state, parent, group, session. The name may contain any character, also blanks and
/// brackets.
fn fields(stat: &[u8]) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok().map(str::split_ascii_whitespace)
}

fn field(stat: &[u8], number: usize) -> Option<Pid> {
    fields(stat)?.nth(number).and_then(parse_pid)
}

fn is_dead(stat: &[u8]) -> bool {
    matches!(fields(stat).and_then(|mut fields| fields.next()), Some("Z" | "X"))
}

fn await_child(children: &OwnedFd, limit: Duration) {
    let limit = Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    let mut ready = [PollFd::new(children, PollFlags::IN)];
    if poll(&mut ready, Some(&limit)).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    os::drain(children);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::{Child, Command, Stdio};

    use protomcp_testing::holds_in_time;

    use super::*;

    #[test]
    fn a_name_full_of_brackets_does_not_hide_the_parent() {
        let stat = b"4242 (a) Z 1 (b)) S 17 4242 99 0 -1";
        assert_eq!(field(stat, 1), Pid::from_raw(17));
        assert_eq!(field(stat, 3), Pid::from_raw(99));
        assert!(!is_dead(stat));
        assert!(is_dead(b"1 (sh) Z 17 1 1"));
        assert_eq!(field(b"no bracket", 1), None);
    }

    fn family() -> (Child, Pid) {
        let child = Command::new("sh")
            .args(["-c", "sleep 1000 & sh -c 'sleep 1000 & wait' & echo ready; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    fn descendants(root: Pid) -> HashSet<Pid> {
        let mut all = HashSet::new();
        walk(root, &mut |pid, _| all.insert(pid));
        all
    }

    #[test]
    fn both_ways_to_list_children_agree() {
        let (mut child, pid) = family();
        assert!(holds_in_time(|| descendants(pid).len() == 3));
        let listed: HashSet<Pid> = listed_children(pid).into_iter().collect();
        let scanned: HashSet<Pid> = Table::read().children(pid).into_iter().collect();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed, scanned);
        kill_below(pid);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn walks_go_on_until_one_finds_nothing_new() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let alive = RefCell::new(vec![pid(1)]);
        let mut walks = 0;
        let found = stop_all(
            |visit| {
                walks += 1;
                let listed = alive.borrow().clone();
                for child in listed {
                    visit(child, pid(1000));
                }
            },
            // Each of the first three starts another one after it was listed, and before it is stopped.
            |child, _| {
                if child.as_raw_pid() < 4 {
                    alive.borrow_mut().push(pid(child.as_raw_pid() + 1));
                }
                Stopped::Yes
            },
        );
        assert_eq!((found.all, walks), (vec![pid(1), pid(2), pid(3), pid(4)], 5));
    }

    #[test]
    fn everyone_is_stopped_before_anyone_dies() {
        let (mut child, pid) = family();
        assert!(holds_in_time(|| descendants(pid).len() == 3));
        let found = stop_below(pid);
        assert_eq!(found.all.len(), 3);
        let state = |pid: &Pid| Some(fields(&stat(*pid)?)?.next()?.to_owned());
        assert!(holds_in_time(|| found.all.iter().all(|pid| state(pid).as_deref() == Some("T"))));
        kill_below(pid);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn everyone_below_dies_and_the_root_is_spared() {
        let (mut child, pid) = family();
        assert!(holds_in_time(|| descendants(pid).len() == 3));
        let below = descendants(pid);
        let found = kill_below(pid);
        assert_eq!(found.all.iter().copied().collect::<HashSet<_>>(), below);
        assert_eq!(found.refused, 0);
        // The shell waits for its children, so it ends by itself, without a signal.
        assert!(child.wait().unwrap().code().is_some());
        assert!(holds_in_time(|| below.iter().all(|pid| stat(*pid).is_none_or(|stat| is_dead(&stat)))));
    }
}
