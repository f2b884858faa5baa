//! The data that a user has read, as far as the checks need it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A secret of mallory that other users must not read.
pub const SECRET: &str = "account-4711-of-mallory";

/// The notification that tools have changed.
pub(super) const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Counts the relevant words in all data that was read, and discards the rest. Cloning is cheap, and clones share
/// state.
#[derive(Debug, Clone, Default)]
pub struct Heard(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The end of the data that was read; a word may have begun there.
    tail: String,
    notices: usize,
    /// The secret with its surroundings, once for each occurrence.
    leaks: Vec<String>,
}

impl Heard {
    /// Records data that was read.
    pub fn push(&self, text: &str) {
        let mut state = self.lock();
        let joined = std::mem::take(&mut state.tail) + text;
        state.notices += joined.matches(LIST_CHANGED).count();
        state.leaks.extend(joined.match_indices(SECRET).map(|(at, _)| around(&joined, at)));
        // Long enough for the beginning of a word, and without any counted word.
        let keep = LIST_CHANGED.len().max(SECRET.len()) - 1;
        let start = [LIST_CHANGED, SECRET].iter().filter_map(|word| Some(joined.rfind(word)? + word.len())).max();
        let mut start = start.unwrap_or(0).max(joined.len().saturating_sub(keep));
        while !joined.is_char_boundary(start) {
            start += 1;
        }
        state.tail = joined[start..].to_owned();
    }

    /// The number of notifications of changed tools.
    pub(super) fn notices(&self) -> usize {
        self.lock().notices
    }

    /// The occurrences of the secret.
    pub fn leaks(&self) -> Vec<String> {
        self.lock().leaks.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn around(text: &str, at: usize) -> String {
    let before: Vec<char> = text[..at].chars().rev().take(160).collect();
    before.into_iter().rev().chain(text[at..].chars().take(80)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_however_they_are_cut() {
        let text = format!("a {SECRET} b {LIST_CHANGED}{LIST_CHANGED} {SECRET}");
        for size in 1..text.len() {
            let heard = Heard::default();
            for piece in text.as_bytes().chunks(size) {
                heard.push(&String::from_utf8_lossy(piece));
            }
            assert_eq!((heard.leaks().len(), heard.notices()), (2, 2), "{size}");
        }
    }
}
