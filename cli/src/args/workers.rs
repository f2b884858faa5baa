//! The flags for the processes of a tool file: their number, and where they connect.

use std::path::{Path, PathBuf};

use clap::Args;
use protomcp_bridge::Builder;

use crate::args::choices::Affinity;
use crate::exit::Failure;

/// The processes of a tool file.
#[derive(Debug, Args)]
pub(super) struct WorkerFlags {
    /// Processes of the tool file behind one list, at most 64. With more than one, tools that run one at a time use more
    /// than one processor
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: u8,

    /// The process that a call goes to, of several
    #[arg(long, value_name = "SCOPE", default_value = "session")]
    worker_affinity: Affinity,

    /// Path of the socket for the tool process [default: a private path]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

impl WorkerFlags {
    /// Refuses a socket in a directory that does not exist.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let directory = self.socket.as_deref().and_then(Path::parent).filter(|path| !path.as_os_str().is_empty());
        match directory.filter(|directory| !directory.is_dir()) {
            Some(directory) => {
                Err(Failure::usage(format!("invalid --socket: there is no directory {}", directory.display())))
            }
            None => Ok(()),
        }
    }

    pub(super) fn apply(&self, builder: Builder) -> Builder {
        let builder = builder.workers(usize::from(self.workers)).worker_affinity(self.worker_affinity.into());
        match &self.socket {
            Some(socket) => builder.socket(socket),
            None => builder,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use protomcp_bridge::WorkerAffinity;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        workers: WorkerFlags,
    }

    fn read(line: &str) -> Option<(u8, WorkerAffinity)> {
        let words = std::iter::once("pmcp").chain(line.split_whitespace());
        let WorkerFlags { workers, worker_affinity, .. } = Flags::try_parse_from(words).ok()?.workers;
        Some((workers, worker_affinity.into()))
    }

    #[test]
    fn the_number_of_workers_is_bounded() {
        assert_eq!(read(""), Some((1, WorkerAffinity::Session)));
        assert_eq!(read("--workers 64 --worker-affinity none"), Some((64, WorkerAffinity::None)));
        for refused in ["--workers 0", "--workers 65", "--worker-affinity call"] {
            assert_eq!(read(refused), None, "{refused}");
        }
    }
}
