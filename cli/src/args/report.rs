//! Flags of reports: their format, and the hosts that they are about.

use protomcp_check::HostSelection;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(super) fn format(text: &str) -> Result<Format, String> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("must be 'text' or 'json'".into()),
    }
}

/// The hosts in a list with commas.
pub(super) fn hosts(text: &str) -> Result<HostSelection, String> {
    let mut words = text.split(',').filter(|word| !word.trim().is_empty());
    words.try_fold(HostSelection::default(), HostSelection::with).map_err(|error| error.to_string())
}
