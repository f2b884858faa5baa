//! Tables of the changes of a task.

use std::time::{Duration, UNIX_EPOCH};

use protomcp_types::RawJson;

use super::*;

/// A change of a task, and the value that it returns.
enum Step {
    Message(&'static str, bool),
    Questions(usize, bool),
    End(TaskOutcome, bool),
    Cancel(bool),
}
use Step::{Cancel, End, Message, Questions};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Takes a step each second. Expected are the status, the message, and the second of the last change.
#[track_caller]
fn check(era: TaskEra, steps: &[Step], expected: (TaskStatus, Option<&str>, u64)) -> TaskState {
    let mut task = TaskState::new(era, "1", TaskOptions::default(), at(0));
    for (step, second) in steps.iter().zip(1..) {
        let now = at(second);
        let (returned, expected) = match step {
            Message(text, expected) => (task.set_message(text, now), expected),
            Questions(open, expected) => (task.set_questions(*open, now), expected),
            End(outcome, expected) => (task.end(outcome.clone(), now), expected),
            Cancel(expected) => (task.cancel(Some("stop"), "stopped", now), expected),
        };
        assert_eq!(returned, *expected, "step {second}");
    }
    let (status, message, updated) = expected;
    assert_eq!((task.status(), task.message.as_deref(), task.updated), (status, message, at(updated)));
    assert_eq!(task.is_running(), task.outcome().is_none());
    task
}

fn done() -> TaskOutcome {
    Ok(CallToolResult::text("done").into())
}

fn error_result() -> TaskOutcome {
    Ok(CallToolResult::error("no luck").into())
}

fn error() -> TaskOutcome {
    Err(ErrorObject::internal("broken"))
}

#[test]
fn messages_count_once_and_only_before_the_end() {
    let steps = [Message("a", true), Message("a", false), Message("b", true), Cancel(true), Message("c", false)];
    check(TaskEra::Session, &steps, (TaskStatus::Cancelled, Some("stop"), 4));
    let long = "ä".repeat(MAX_MESSAGE);
    let mut task = TaskState::new(TaskEra::Session, "1", TaskOptions::default(), at(0));
    assert!(task.set_message(&long, at(1)) && !task.set_message(&long, at(2)));
    assert_eq!(task.message.as_ref().map(String::len), Some(MAX_MESSAGE));
}

#[test]
fn the_first_and_the_last_question_change_the_status() {
    let ask = [Message("m", true), Questions(1, true), Questions(2, false), Questions(1, false)];
    check(TaskEra::Stateless, &ask, (TaskStatus::InputRequired, Some("m"), 2));
    check(
        TaskEra::Stateless,
        &[Questions(1, true), Questions(0, true), Questions(0, false)],
        (TaskStatus::Working, None, 2),
    );
    check(
        TaskEra::Session,
        &[Cancel(true), Questions(1, false), Questions(0, false)],
        (TaskStatus::Cancelled, Some("stop"), 1),
    );
}

#[test]
fn a_task_ends_once() {
    let ends = [Message("m", true), End(done(), true), End(error(), false), Cancel(false)];
    check(TaskEra::Stateless, &ends, (TaskStatus::Completed, Some("m"), 2));
    check(TaskEra::Session, &[Cancel(true), End(done(), false)], (TaskStatus::Cancelled, Some("stop"), 1));
}

#[test]
fn each_era_has_its_own_idea_of_a_failure() {
    use TaskEra::{Session, Stateless};
    use TaskStatus::{Completed, Failed};
    for (era, outcome, status, message) in [
        (Session, done(), Completed, None),
        (Session, error_result(), Failed, Some("no luck")),
        (Session, error(), Failed, Some("broken")),
        (Stateless, done(), Completed, Some("m")),
        (Stateless, error_result(), Completed, Some("m")),
        (Stateless, error(), Failed, Some("broken")),
    ] {
        check(era, &[Message("m", true), End(outcome, true)], (status, message, 2));
    }
}

#[test]
fn a_view_has_the_detail_of_its_status() {
    let detail = |steps: &[Step], expected| check(TaskEra::Stateless, steps, expected).view(None).detail;
    assert!(matches!(detail(&[], (TaskStatus::Working, None, 0)), TaskDetail::Working));
    let completed = detail(&[End(error_result(), true)], (TaskStatus::Completed, None, 1));
    assert!(matches!(completed, TaskDetail::Completed(ServerResult::CallTool(result)) if result.is_error));
    let failed = detail(&[End(error(), true)], (TaskStatus::Failed, Some("broken"), 1));
    assert!(matches!(failed, TaskDetail::Failed(_)));
    assert!(matches!(detail(&[Cancel(true)], (TaskStatus::Cancelled, Some("stop"), 1)), TaskDetail::Cancelled));
}

#[test]
fn a_task_is_read_as_it_was_written() {
    use TaskEra::{Session, Stateless};
    let body = JsonBuf::object().text("a", "b").finish();
    for task in [
        check(Session, &[], (TaskStatus::Working, None, 0)),
        check(Session, &[Message("ä", true), Questions(2, true)], (TaskStatus::InputRequired, Some("ä"), 2)),
        check(Session, &[End(error_result(), true)], (TaskStatus::Failed, Some("no luck"), 1)),
        check(Stateless, &[Message("m", true), End(done(), true)], (TaskStatus::Completed, Some("m"), 2)),
        check(Stateless, &[End(error(), true)], (TaskStatus::Failed, Some("broken"), 1)),
        check(Stateless, &[End(Ok(ServerResult::Body(body)), true)], (TaskStatus::Completed, None, 1)),
        check(Stateless, &[Cancel(true)], (TaskStatus::Cancelled, Some("stop"), 1)),
    ] {
        let written = task.to_json().into_raw();
        let read = TaskState::from_json(&written).unwrap_or_else(|| panic!("{written}"));
        assert_eq!(format!("{read:?}"), format!("{task:?}"));
    }
    let other = check(Stateless, &[End(Ok(ServerResult::Empty), true)], (TaskStatus::Completed, None, 1));
    assert_eq!(TaskState::from_json(&other.to_json().into_raw()).map(|task| task.is_running()), Some(false));
    for text in ["{}", "[]", r#"{"status":"completed"}"#, r#"{"questions":0}"#] {
        assert!(TaskState::from_json(&RawJson::parse(text).unwrap()).is_none(), "{text}");
    }
}
