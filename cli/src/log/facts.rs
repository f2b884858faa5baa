//! Facts for the live view, from the events with the target of the status ([`protomcp_bridge::STATUS_TARGET`]).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use protomcp_types::is_shown;
use protomcp_view::{Fact, Outcome, State};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::log::live::LiveView;

/// Passes the facts on to a view.
pub(super) struct Facts(pub(super) LiveView);

impl<S: Subscriber> Layer<S> for Facts {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields.facts().into_iter().for_each(|fact| self.0.note(fact));
    }
}

/// The fields of an event.
#[derive(Debug, Default)]
struct Fields {
    texts: BTreeMap<&'static str, String>,
    numbers: BTreeMap<&'static str, u64>,
}

impl Fields {
    fn text(&mut self, name: &str) -> Option<String> {
        self.texts.remove(name)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    fn facts(mut self) -> Vec<Fact> {
        if let Some(state) = self.text("state") {
            return state_of(&state).map(Fact::State).into_iter().collect();
        }
        if let Some(count) = self.number("tools") {
            let names = self.text("names").unwrap_or_default();
            let tools = Fact::Tools { count: usize::try_from(count).unwrap_or(usize::MAX), names };
            return [Some(tools), self.text("change").map(Fact::Changed)].into_iter().flatten().collect();
        }
        let (Some(call), Some(tool)) = (self.number("call"), self.text("tool")) else { return Vec::new() };
        let Some(outcome) = self.text("outcome") else { return vec![Fact::Started { call, tool }] };
        vec![Fact::Ended {
            call,
            tool,
            outcome: match outcome.as_str() {
                "ok" => Outcome::Ok,
                "cancelled" => Outcome::Cancelled,
                _ => Outcome::Failed,
            },
            took: Duration::from_millis(self.number("ms").unwrap_or_default()),
            bytes: self.number("bytes").unwrap_or_default(),
            why: self.text("why").filter(|why| !why.is_empty()).unwrap_or(outcome),
        }]
    }
}

fn state_of(name: &str) -> Option<State> {
    Some(match name {
        "ready" => State::Ready,
        "not started" => State::NotStarted,
        "outdated" => State::Outdated,
        "crashed" => State::Crashed,
        "given up" => State::GivenUp,
        _ => return None,
    })
}

impl Visit for Fields {
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        self.texts.insert(field.name(), value.chars().filter(|c| is_shown(*c)).collect());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.numbers.insert(field.name(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(texts: &[(&'static str, &str)], numbers: &[(&'static str, u64)]) -> Vec<Fact> {
        let texts = texts.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Fields { texts, numbers: numbers.iter().copied().collect() }.facts()
    }

    #[test]
    fn the_fields_of_an_event_are_facts() {
        let tools = Fact::Tools { count: 2, names: "a, b".into() };
        for (texts, numbers, expected) in [
            (&[("state", "crashed")][..], &[][..], vec![Fact::State(State::Crashed)]),
            (&[("state", "unknown")], &[], vec![]),
            (&[("names", "a, b")], &[("tools", 2)], vec![tools.clone()]),
            (
                &[("names", "a, b"), ("change", "added b")],
                &[("tools", 2)],
                vec![tools, Fact::Changed("added b".into())],
            ),
            (&[("tool", "a")], &[("call", 7)], vec![Fact::Started { call: 7, tool: "a".into() }]),
            (&[("tool", "a")], &[], vec![]),
        ] {
            assert_eq!(facts(texts, numbers), expected);
        }
    }

    #[test]
    fn a_call_has_ended_with_its_outcome() {
        let ended = |outcome: &str, why: &str| {
            let texts = [("tool", "a"), ("outcome", outcome), ("why", why)];
            match facts(&texts, &[("call", 7), ("ms", 12), ("bytes", 5)]).pop() {
                Some(Fact::Ended { call: 7, outcome, took, bytes: 5, why, .. }) if took.as_millis() == 12 => {
                    (outcome, why)
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(ended("ok", ""), (Outcome::Ok, "ok".into()));
        assert_eq!(ended("cancelled", ""), (Outcome::Cancelled, "cancelled".into()));
        assert_eq!(ended("tool error", "no such city"), (Outcome::Failed, "no such city".into()));
        assert_eq!(ended("crashed", ""), (Outcome::Failed, "crashed".into()));
    }
}
