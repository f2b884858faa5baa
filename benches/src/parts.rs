//! The parts of the bench.

pub mod clients;
pub mod curves;
pub mod gateway;
pub mod http;
pub mod lists;
pub mod load;
pub mod memory;
pub mod overload;
pub mod protocols;
mod readings;
pub mod reload;
pub mod results;
pub mod sessions;
pub mod start;
pub mod stdio;
pub mod store;

use crate::bench::{Bench, Outcome};
use crate::measurement::Measurement;

/// A part of the bench, selected by its name.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// The time at which it runs.
    pub turn: Turn,
    /// Measures one round of all its subjects.
    pub round: fn(&Bench, &mut Measurement) -> Outcome<()>,
}

/// The time at which a part runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// In each round.
    Each,
    /// In the first round, because it takes minutes and repeats by itself.
    Once,
    /// In each round, if it is named.
    EachIfNamed,
    /// In the first round, if it is named.
    OnceIfNamed,
}

/// All parts, in the order of a round.
pub const PARTS: [Part; 20] = [
    Part { name: start::PART, turn: Turn::Each, round: start::round },
    Part { name: stdio::PART, turn: Turn::Each, round: stdio::round },
    Part { name: stdio::PINNED, turn: Turn::Each, round: stdio::pinned_round },
    Part { name: http::PART, turn: Turn::Each, round: http::round },
    Part { name: results::PART, turn: Turn::Each, round: results::round },
    Part { name: lists::PART, turn: Turn::Each, round: lists::round },
    Part { name: lists::QUEUED, turn: Turn::Each, round: lists::queued_round },
    Part { name: memory::PART, turn: Turn::Each, round: memory::round },
    Part { name: reload::PART, turn: Turn::Each, round: reload::round },
    Part { name: gateway::PART, turn: Turn::Each, round: gateway::round },
    Part { name: protocols::PART, turn: Turn::Each, round: protocols::round },
    Part { name: clients::PART, turn: Turn::Each, round: clients::round },
    Part { name: sessions::PART, turn: Turn::Once, round: sessions::round },
    Part { name: store::PART, turn: Turn::EachIfNamed, round: store::round },
    Part { name: load::PART, turn: Turn::OnceIfNamed, round: load::round },
    Part { name: overload::PART, turn: Turn::OnceIfNamed, round: overload::round },
    Part { name: curves::TOOLS, turn: Turn::EachIfNamed, round: curves::tools_round },
    Part { name: curves::RESULTS, turn: Turn::EachIfNamed, round: curves::results_round },
    Part { name: curves::SESSIONS, turn: Turn::EachIfNamed, round: curves::sessions_round },
    Part { name: curves::PRINCIPALS, turn: Turn::EachIfNamed, round: curves::principals_round },
];

impl Part {
    /// True if it runs in this round, counted from zero. `only` has the names that were selected.
    pub fn runs(&self, round: usize, only: &[String]) -> bool {
        let is_named = only.iter().any(|name| name == self.name);
        let is_selected = if only.is_empty() { matches!(self.turn, Turn::Each | Turn::Once) } else { is_named };
        is_selected && (round == 0 || matches!(self.turn, Turn::Each | Turn::EachIfNamed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(round: usize, only: &[&str]) -> Vec<&'static str> {
        let only: Vec<_> = only.iter().map(|name| (*name).to_owned()).collect();
        PARTS.iter().filter(|part| part.runs(round, &only)).map(|part| part.name).collect()
    }

    #[test]
    fn long_parts_run_once_or_if_they_are_named() {
        let (first, second) = (running(0, &[]), running(1, &[]));
        assert!(
            first.contains(&"sessions") && !first.contains(&"load") && !first.contains(&"curve-tools"),
            "{first:?}"
        );
        assert!(second.contains(&"stdio") && !second.contains(&"sessions"), "{second:?}");
        assert_eq!(running(0, &["load", "curve-tools"]), ["load", "curve-tools"]);
        assert_eq!(running(1, &["load", "curve-tools", "sessions"]), ["curve-tools"]);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names.len(), PARTS.len());
    }
}
