//! Output of the commands, and failures of files.

use std::path::Path;

use protomcp_descriptors::MessageType;
use protomcp_descriptors::convert::to_json_schema;

use crate::exit::{self, Failure};

/// Prints the JSON Schema of a message.
pub(super) fn print_schema(message: &MessageType) -> Result<(), Failure> {
    let schema = to_json_schema(message)
        .map_err(|error| Failure::usage(format!("{} has no JSON Schema: {error}", message.full_name())))?;
    exit::print(&format!("{schema:#}\n"))
}

/// The failure of a file that cannot be read.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", path.display()))
}

/// The failure of a file that cannot be written.
pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}
