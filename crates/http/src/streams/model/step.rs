//! The steps of a history.

use proptest::prelude::*;
use proptest::sample::Index;

/// A step. An index selects one of the candidates.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// The client POSTs this many concurrent requests.
    Post(usize),
    /// A call reports progress.
    Report(Index),
    /// The session sends a notification.
    Happen,
    Answer(Index),
    Cancel(Index),
    /// A call is silent for a while.
    Pause(Index),
    /// The response takes too long to stay JSON.
    Hurry(Index),
    /// A connection takes the next message.
    Take(Index),
    /// Some events in flight arrive.
    Arrive(Index),
    /// A connection breaks, and the server notices.
    Break(Index),
    /// A connection breaks, and the server does not notice yet.
    Hang(Index),
    /// The client opens the standalone stream.
    Listen,
    /// The client resumes one of its streams, with the id of the last event that it has read.
    Return(Index),
    /// It resumes from an earlier event.
    ReturnEarlier(Index, Index),
}

/// Steps in any order.
pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<Index>;
    let step = prop_oneof![
        2 => (1..3_usize).prop_map(Step::Post),
        4 => index().prop_map(Step::Report),
        2 => Just(Step::Happen),
        2 => index().prop_map(Step::Answer),
        1 => index().prop_map(Step::Cancel),
        1 => index().prop_map(Step::Pause),
        1 => index().prop_map(Step::Hurry),
        6 => index().prop_map(Step::Take),
        4 => index().prop_map(Step::Arrive),
        2 => index().prop_map(Step::Break),
        1 => index().prop_map(Step::Hang),
        1 => Just(Step::Listen),
        2 => index().prop_map(Step::Return),
        1 => (index(), index()).prop_map(|(stream, number)| Step::ReturnEarlier(stream, number)),
    ];
    prop::collection::vec(step, 0..120)
}
