//! The flags of `pmcp doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::args::report::{Format, format};
use crate::color::ColorFlag;

/// Find out why a tool file does not work
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorOptions {
    /// The tool file; without one, the machine and the hosts are examined
    pub(crate) file: Option<PathBuf>,

    /// Run the file with this program instead of the one for its extension
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) runtime: Option<OsString>,

    /// Also find out if this port is free
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// Format of the report: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) color: ColorFlag,
}

const EXAMPLES: &str = "\
Examples:
  pmcp doctor                          the machine, and the servers of hosts that run pmcp
  pmcp doctor tools.py                 interpreter, SDK, a trial start, hosts that have it, socket, limits
  pmcp doctor tools.py --port 8080     also the port for pmcp run --transport http

The exit code is 1 if something is wrong; each finding says how to correct it.";
