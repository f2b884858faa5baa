//! Colours of reports and errors, where they are wanted. Nothing but marks has one: a report reads the same without.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::{Args, ValueEnum};

/// The choice of the command line.
static CHOSEN: OnceLock<When> = OnceLock::new();

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const END: &str = "\x1b[0m";

/// The flag for colours.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ColorFlag {
    /// Colours of reports and errors
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum When {
    /// In a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

impl ColorFlag {
    /// Holds from now on. Only the first flag counts.
    pub(crate) fn apply(self) {
        let _first = CHOSEN.set(self.color);
    }
}

/// Takes the choice of a command line that is refused as a whole.
pub(crate) fn choose(words: &[OsString]) {
    let words = words.iter().map_while(|word| word.to_str().filter(|word| *word != "--"));
    let mut is_value = false;
    for word in words {
        let value = if is_value { Some(word) } else { word.strip_prefix("--color=") };
        if let Some(when) = value.and_then(|value| When::from_str(value, false).ok()) {
            let _first = CHOSEN.set(when);
        }
        is_value = word == "--color";
    }
}

/// True if output has colours. `is_terminal`: a terminal shows it.
pub(crate) fn is_wanted(is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    match CHOSEN.get().copied().unwrap_or_default() {
        When::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb(),
        When::Always => true,
        When::Never => false,
    }
}

/// The word in front of an error.
pub(crate) fn error(word: &str) -> String {
    format!("{RED}{word}{END}")
}

/// The report with its marks in colours.
pub(crate) fn painted(report: &str) -> String {
    report.split_inclusive('\n').fold(String::with_capacity(report.len()), |mut text, line| {
        let start = line.len() - line.trim_start_matches(' ').len();
        let (indent, rest) = line.split_at(start);
        let mark = [("✓ ", GREEN), ("✗ ", RED), ("! ", YELLOW)].into_iter().find(|(mark, _)| rest.starts_with(mark));
        match mark {
            Some((mark, color)) => {
                let (mark, rest) = rest.split_at(mark.len());
                text.extend([indent, color, mark.trim_end(), END, " ", rest]);
            }
            None => text.push_str(line),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_at_the_beginning_of_a_line_have_colours() {
        let report = "✓ add — OK\n  ✗ pay ✓ x\n! — 1 finding\ntext ✓ y\n!x\n";
        let expected =
            "\x1b[32m✓\x1b[0m add — OK\n  \x1b[31m✗\x1b[0m pay ✓ x\n\x1b[33m!\x1b[0m — 1 finding\ntext ✓ y\n!x\n";
        assert_eq!(painted(report), expected);
        assert_eq!(error("error:"), "\x1b[31merror:\x1b[0m");
    }
}
