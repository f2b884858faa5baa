//! Detects processes that read their socket from more than one thread while a handler runs.
//!
//! The published Python SDK 0.3.1 does, and needs another kind of answer to tool list control (see
//! `two_reader_workaround` of the link); its older versions and every other SDK do not. Version 0.3.1 runs handlers on
//! a thread, so during a call it has more than one; the older versions have only the main one. If the system does not
//! show threads, any Python file counts as 0.3.1: the empty frames are harmless to a single reader, too, which then
//! sees an empty list instead of the real one. An SDK that announces itself has one reader.

/// The threads that may read the socket of the tool process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketReaders {
    /// One thread, as in every SDK but one.
    One,
    /// Perhaps two, in the process with this id; `None` if the system does not name the peer.
    PerhapsTwo(Option<i32>),
}

impl SocketReaders {
    /// Two threads read at this moment, while a call is in flight.
    pub(crate) fn are_two(self) -> bool {
        match self {
            Self::One => false,
            Self::PerhapsTwo(None) => true,
            Self::PerhapsTwo(Some(process)) => {
                is_python(process).unwrap_or(true) && threads(process).is_none_or(|threads| threads > 1)
            }
        }
    }
}

/// True if the process runs a Python interpreter; a `.py` file may execute another program.
fn is_python(process: i32) -> Option<bool> {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let name = program.file_name()?.to_str()?.to_ascii_lowercase();
    Some(name.contains("python") || name.contains("pypy"))
}

/// The number of threads of a process; `None` if the system does not show them, or the process is gone.
fn threads(process: i32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:"))?;
    count.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_process_are_counted() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let second = std::thread::spawn(move || wait.recv());
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(threads(own).unwrap() >= 2);
        assert!(!SocketReaders::PerhapsTwo(Some(own)).are_two(), "it is not Python");
        drop(go);
        assert!(second.join().unwrap().is_err());
        assert!(!SocketReaders::One.are_two());
        assert!(SocketReaders::PerhapsTwo(None).are_two(), "an unknown process counts as two");
    }

    /// Runs Python until it writes a byte, and counts its possible readers.
    fn python(program: &str) -> bool {
        use std::io::Read;
        use std::process::{Command, Stdio};
        let mut python =
            Command::new("python3").args(["-c", program]).stdout(Stdio::piped()).spawn().expect("python3 runs");
        python.stdout.as_mut().expect("it is piped").read_exact(&mut [0]).expect("it speaks");
        let two = SocketReaders::PerhapsTwo(i32::try_from(python.id()).ok()).are_two();
        python.kill().expect("it runs");
        python.wait().expect("it ends");
        two
    }

    #[test]
    fn only_python_with_a_second_thread_may_have_two_readers() {
        let start = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); ";
        let speak = "print(end='x', flush=True); time.sleep(60)";
        assert!(python(&format!("{start}{speak}")));
        assert!(!python(&format!("import time; {speak}")));
    }
}
