//! The few unsafe calls: between fork and exec, signals, and the allocator.
//!
//! This is the only module of the crate with `unsafe` in it.

#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the allocator map blocks of this many bytes or more, and never change that number itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn map_blocks(bytes: libc::c_int) {
    // SAFETY: the call takes two integers and the allocator's own lock. It fails only for a number above half a heap, and
    // then nothing has changed.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
}

/// Forks this process, which must have one thread. Returns the child's id, and `None` in the child.
///
/// # Errors
///
/// If the process has several threads, or the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn fork() -> std::io::Result<Option<rustix::process::Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    // SAFETY: no other thread holds a lock, or changes memory, at this moment: there is none. So the child is as good as the
    // parent.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        // In the child this is 0, which is the id of no process.
        id => Ok(rustix::process::Pid::from_raw(id)),
    }
}

/// Ends this process without the exit handlers of the program, which are not for a fork of it.
#[cfg(target_os = "linux")]
pub(crate) fn exit_quietly(code: i32) -> ! {
    // SAFETY: the call takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Makes the child of `command` lead its own process group, start with a clean state, and, on Linux, die with the
/// thread that starts it.
///
/// A clean state means: only the three standard descriptors, no blocked signals and no ignored signals, regardless of
/// the caller's own state, and this soft limit of open files if there is one.
pub(crate) fn prepare_child(command: &mut Command, open_files: Option<u64>) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the forked child of a process that may have several threads. It makes system calls
    // that are async-signal-safe, touches no lock and allocates nothing (an `io::Error` of an error number is plain).
    unsafe {
        command.pre_exec(move || {
            // In this order: a handler of the parent must never run here.
            default_signals();
            unblock_signals();
            forget_descriptors();
            open_files.map_or(Ok(()), crate::open_files::set)?;
            die_with_parent(parent)
        });
    }
}

/// Requests SIGKILL when the parent thread ends. If the parent ended before the request, its end was missed.
#[cfg(target_os = "linux")]
fn die_with_parent(parent: rustix::process::Pid) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_parent: rustix::process::Pid) -> std::io::Result<()> {
    Ok(())
}

/// Sets every signal to its default action.
pub(crate) fn default_signals() {
    for signal in 1..=MAX_SIGNAL {
        // SAFETY: `signal` only replaces a disposition by the default one. The system refuses numbers that do not exist
        // or cannot be changed, which is fine here.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The highest signal number of any system we run on.
const MAX_SIGNAL: i32 = 64;

fn unblock_signals() {
    // SAFETY: `sigemptyset` initialises the set that `sigprocmask` then reads; no old mask is asked for.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{FromRawFd, OwnedFd};

    /// Blocks every signal that can be blocked, for the one thread of a guardian.
    pub(crate) fn block_signals() {
        // SAFETY: `sigfillset` initialises the set that `sigprocmask` then reads; no old mask is asked for.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        }
    }

    /// A descriptor that becomes readable when a child ends. SIGCHLD must be blocked.
    pub(crate) fn child_signals() -> io::Result<OwnedFd> {
        // SAFETY: `sigemptyset` initialises the set, `signalfd` reads it and returns a new descriptor or -1.
        let number = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just created and has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }

    /// Empties a descriptor from [`child_signals`].
    pub(crate) fn drain(children: &OwnedFd) {
        let mut buffer = [0; 1024];
        while rustix::io::read(children, &mut buffer).is_ok_and(|count| count > 0) {}
    }

    /// Replaces the command line of this process in lists of processes. Only for a forked guardian, which never reads its
    /// arguments. What the command line has no room for is cut off.
    pub(crate) fn set_command_line(text: &str) {
        let Some((first, length)) = command_line() else { return };
        let shown = text.len().min(length.saturating_sub(1));
        let first = std::ptr::with_exposed_provenance_mut::<u8>(first);
        // SAFETY: the system has put the arguments there, in the memory of the first thread's stack, which can be written.
        // Nothing in a guardian reads them, and it has no other thread.
        unsafe {
            std::ptr::write_bytes(first, 0, length);
            std::ptr::copy_nonoverlapping(text.as_ptr(), first, shown);
        }
    }

    /// The address and the length of the command line: fields 48 and 49 of proc_pid_stat(5). The fields after the name begin
    /// with the third.
    fn command_line() -> Option<(usize, usize)> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
        let (first, end): (usize, usize) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some((first, end.checked_sub(first).filter(|_| first > 0)?))
    }

    /// Closes the inherited descriptors from `first` to `last`. Only for a guardian, before it opens descriptors itself.
    pub(crate) fn close_descriptors(first: u32, last: u32) {
        if first > last {
            return;
        }
        // SAFETY: a guardian calls this at its very start, when no Rust value owns a descriptor in that range.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if closed != 0 {
            each_descriptor(first, last, |number| {
                // SAFETY: as above.
                unsafe { libc::close(number) };
            });
        }
    }

    /// Lets no descriptor but the three standard ones survive the coming exec.
    pub(super) fn forget_descriptors() {
        // SAFETY: only sets a flag on descriptors of a process that is about to exec.
        let marked = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        if marked != 0 {
            each_descriptor(3, u32::MAX, |number| {
                // SAFETY: as above.
                unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
            });
        }
    }

    /// For kernels without `close_range` (before 5.9; its flag before 5.11): one by one, as far as a process can open.
    fn each_descriptor(first: u32, last: u32, act: impl Fn(i32)) {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(65_536);
        let end = u64::from(last).saturating_add(1).min(limit.min(65_536));
        for number in u64::from(first)..end {
            act(i32::try_from(number).expect("the end is at most 65,536"));
        }
    }
}

#[cfg(target_os = "linux")]
use linux::forget_descriptors;
#[cfg(target_os = "linux")]
pub(crate) use linux::{block_signals, child_signals, close_descriptors, drain, set_command_line};

/// Elsewhere the standard library opens everything close-on-exec, and other descriptors are left to their owners.
#[cfg(not(target_os = "linux"))]
fn forget_descriptors() {}
