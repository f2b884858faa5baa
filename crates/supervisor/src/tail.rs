//! The last lines of a process, kept for the report of its end.

use std::collections::VecDeque;

/// The most lines of standard error in an [`Exit`](crate::exit::Exit).
pub const STDERR_TAIL_LINES: usize = 20;

/// The newest lines, including lines that were dropped for the owner.
#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    pub(crate) fn push(&mut self, line: &str) {
        if self.0.len() == STDERR_TAIL_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_stay_and_in_order() {
        let mut tail = Tail::default();
        for number in 0..STDERR_TAIL_LINES + 5 {
            tail.push(&number.to_string());
        }
        let lines = tail.into_lines();
        assert_eq!(lines.len(), STDERR_TAIL_LINES);
        assert_eq!(lines.first().map(String::as_str), Some("5"));
        assert_eq!(lines.last().map(String::as_str), Some("24"));
    }
}
