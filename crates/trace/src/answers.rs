//! The positions of answers in a trace.

use std::collections::HashMap;

use serde_json::Value;

use crate::message::answer;
use crate::recording::{Entry, Party};

/// The positions of the answers of one party, in their order, by the ids as JSON.
type Places = HashMap<String, Vec<usize>>;

/// Finds the answer to a request without a look at all messages after it.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    client: Places,
    server: Places,
}

impl Answers {
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut all = Self::default();
        for (position, entry) in entries.iter().enumerate() {
            let Some(id) = answer(&entry.message) else { continue };
            let positions = match entry.from {
                Party::Client => &mut all.client,
                Party::Server => &mut all.server,
                Party::Bridge | Party::Tool => continue,
            };
            positions.entry(id.to_string()).or_default().push(position);
        }
        all
    }

    /// The position of the first answer of this party with this id after a position.
    pub(crate) fn after(&self, position: usize, from: Party, id: &Value) -> Option<usize> {
        let positions = match from {
            Party::Client => &self.client,
            Party::Server => &self.server,
            Party::Bridge | Party::Tool => return None,
        };
        let positions = positions.get(&id.to_string())?;
        positions.get(positions.partition_point(|known| *known <= position)).copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_answer_of_the_party_is_found() {
        use Party::{Client, Server};
        let entry = |(from, message): (Party, Value)| Entry::new(0, from, message);
        let entries: Vec<Entry> = [
            (Client, json!({"id": 1, "method": "a"})),
            (Server, json!({"id": 1, "method": "b"})),
            (Client, json!({"id": 1, "result": "to b"})),
            (Server, json!({"id": "1", "result": "other"})),
            (Server, json!({"id": 1, "result": "to a"})),
            (Client, json!({"id": 1, "method": "a"})),
            (Server, json!({"id": 1, "result": "again"})),
        ]
        .map(entry)
        .into();
        let answers = Answers::of(&entries);
        let rows = [
            (0, Server, 1, Some(4)),
            (1, Client, 1, Some(2)),
            (5, Server, 1, Some(6)),
            (2, Client, 1, None),
            (0, Server, 2, None),
        ];
        for (position, from, id, expected) in rows {
            assert_eq!(answers.after(position, from, &json!(id)), expected, "{position} {from:?} {id}");
        }
    }
}
