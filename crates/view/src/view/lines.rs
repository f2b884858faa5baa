//! The lines of the view, for a terminal of any size.

use std::time::Duration;

use super::{Ended, Input, Outcome, Running, State, View};
use crate::line::{Line, Tone};
use crate::screen::Size;
use crate::units::{bytes, seconds, took};

/// The most rows of the view.
const MAX_ROWS: usize = 14;
/// The most calls that have ended.
const MAX_ENDED: usize = 5;

impl State {
    fn words(self) -> (Tone, &'static str) {
        match self {
            Self::Starting => (Tone::Warning, "starting"),
            Self::Ready => (Tone::Good, "ready"),
            Self::NotStarted => (Tone::Bad, "does not start"),
            Self::Outdated => (Tone::Bad, "the newest version does not start"),
            Self::Crashed => (Tone::Bad, "crashed, starts again"),
            Self::GivenUp => (Tone::Bad, "crashed too often, waits for a reload"),
            Self::Draining => (Tone::Warning, "running calls end"),
        }
    }
}

impl View {
    /// The lines, at least one and at most half of the rows. `now` as for [`note`](View::note).
    #[must_use]
    pub fn lines(&self, size: Size, now: Duration) -> Vec<Line> {
        let columns = usize::from(size.columns.max(1)).saturating_sub(1);
        let rows = usize::from(size.rows / 2).clamp(1, MAX_ROWS);
        let bottom = match &self.input {
            Some(Input::Call(prompt) | Input::Answer(prompt, _)) => prompt.line(columns),
            None => help(),
        };
        let mut lines: Vec<Line> = match rows {
            1 if self.input.is_some() => Vec::new(),
            1 => return vec![self.head().clipped(columns)],
            _ => vec![self.head()],
        };
        let room = rows.saturating_sub(lines.len() + 1);
        let about = [self.tools.as_ref().map(|(_, names)| names), self.change.as_ref()];
        let about = about.into_iter().flatten().filter(|text| !text.is_empty());
        let about: Vec<Line> = about.map(|text| Line::default().with(Tone::Dim, &format!("  {text}"))).collect();
        // The calls come first where not all has room.
        let calls = self.calls(room, now);
        lines.extend(about.into_iter().take(room - calls.len()));
        lines.extend(calls);
        lines.push(bottom);
        lines.into_iter().map(|line| line.clipped(columns)).collect()
    }

    fn head(&self) -> Line {
        let (tone, words) = self.state.words();
        let mut line = Line::default().with(tone, "● ").with(Tone::Strong, &self.title).plain(" · ").with(tone, words);
        if let Some((count, _)) = &self.tools {
            line = line.plain(&if *count == 1 { " · 1 tool".to_owned() } else { format!(" · {count} tools") });
        }
        if self.address.is_empty() { line } else { line.plain(" · ").with(Tone::Dim, &self.address) }
    }

    /// The calls within this number of rows: those that run, the oldest first, and the newest of those that have ended.
    fn calls(&self, rows: usize, now: Duration) -> Vec<Line> {
        let all = self.running.len() as u64 + self.uncounted;
        let shown = if all > rows as u64 { rows.saturating_sub(1) } else { rows };
        let mut lines: Vec<Line> = self.running.iter().take(shown).map(|call| call.line(now)).collect();
        let left = all - lines.len() as u64;
        if left > 0 && rows > 0 {
            lines.push(Line::default().with(Tone::Dim, &format!("  … {left} more running")));
        }
        let ended = self.ended.len().min(MAX_ENDED).min(rows - lines.len());
        lines.extend(self.ended.iter().skip(self.ended.len() - ended).map(Ended::line));
        lines
    }
}

impl Running {
    fn line(&self, now: Duration) -> Line {
        let time = seconds(now.saturating_sub(self.began));
        Line::default().plain("  ").with(Tone::Warning, "▸ ").plain(&self.tool).with(Tone::Dim, &format!("  {time}"))
    }
}

impl Ended {
    fn line(&self) -> Line {
        let (tone, mark) = match self.outcome {
            Outcome::Ok => (Tone::Good, "✓ "),
            Outcome::Cancelled => (Tone::Dim, "– "),
            Outcome::Failed => (Tone::Bad, "✗ "),
        };
        let line = Line::default().plain("  ").with(tone, mark).plain(&self.tool);
        let line = line.with(Tone::Dim, &format!("  {}", took(self.took)));
        match self.outcome {
            Outcome::Ok => line.with(Tone::Dim, &format!("  {}", bytes(self.bytes))),
            Outcome::Cancelled => line.with(Tone::Dim, "  cancelled"),
            Outcome::Failed => line.plain("  ").with(Tone::Bad, &self.why),
        }
    }
}

fn help() -> Line {
    let line = Line::default().with(Tone::Strong, "r").plain(" reload · ").with(Tone::Strong, "c");
    line.plain(" call a tool · ").with(Tone::Strong, "q").plain(" quit")
}
