//! Messages that the process sends on its own: progress and others. Checklist items 51 to 53.

use protomcp_envelope::{
    ElicitationComplete, LogMessage, ProgressNotification, PromptListChanged, ResourceChangedNotification,
    ResourceListChanged, SdkInfo,
};

use super::talk::{SECOND, Talk, result};

fn progress(token: &str, progress: i64) -> ProgressNotification {
    ProgressNotification { progress_token: token.into(), progress, total: 9, message: "step".into() }
}

#[test]
fn progress_carries_the_call_id_and_precedes_its_answer() {
    let mut talk = Talk::ready();
    talk.call_and_listen(SECOND);
    talk.call_and_listen(SECOND);
    talk.wrote(&["call_tool(token req-1)[req-1]", "call_tool(token req-2)[req-2]"]);
    talk.hears("", progress("req-2", 1));
    talk.hears("ignored", progress("req-1", 2));
    talk.hears("req-2", result("done"));
    talk.hears("", progress("req-1", 3));
    talk.happened(&["req-2 at 1 of 9 step", "req-1 at 2 of 9 step", "req-2: result text done", "req-1 at 3 of 9 step"]);
}

#[test]
fn progress_without_a_listener_is_dropped() {
    let mut talk = Talk::ready();
    talk.call_and_listen(SECOND);
    talk.call(SECOND);
    let cancelled = talk.call_and_listen(SECOND);
    talk.connection.cancel(cancelled);
    talk.hears("req-1", result("done"));
    talk.happened(&["req-1: result text done"]);
    for (token, why) in [
        ("req-1", "its call is answered"),
        ("req-2", "its caller does not listen"),
        ("req-3", "its call is cancelled"),
        ("", "it has no token"),
        ("listen", "its token is the caller's, not ours"),
        ("req-77", "its token is made up"),
    ] {
        talk.hears("", progress(token, 1));
        assert_eq!(talk.events(), [format!("late progress[{token}]")], "{why}");
    }
}

#[test]
fn progress_after_a_timeout_goes_no_further() {
    let mut talk = Talk::ready();
    talk.call_and_listen(SECOND);
    talk.hears("", progress("req-1", 1));
    talk.passes(SECOND);
    talk.hears("", progress("req-1", 2));
    talk.happened(&["req-1 at 1 of 9 step", "req-1 failed: timed out after 1s", "late progress[req-1]"]);
}

#[test]
fn messages_without_answers_may_have_any_id() {
    let mut talk = Talk::ready();
    for id in ["", "req-1", "mine"] {
        talk.hears(id, LogMessage::default());
        talk.hears(id, ResourceChangedNotification::default());
        talk.hears(id, SdkInfo::default());
        talk.hears(id, PromptListChanged::default());
        talk.hears(id, ResourceListChanged::default());
        talk.hears(id, ElicitationComplete::default());
        talk.happened(&[
            "told log",
            "told resource_changed",
            "told sdk_info",
            "told prompt_list_changed",
            "told resource_list_changed",
            "told elicitation_complete",
        ]);
    }
    talk.wrote(&[]);
}
