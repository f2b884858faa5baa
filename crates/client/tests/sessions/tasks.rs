//! Calls that become tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_types::{ElicitAction, ElicitResult, JsonObject, TaskStatus};

use super::server::{client, in_both_eras};

#[test]
fn a_task_is_one_future() {
    in_both_eras(client, async |stage| {
        let states = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&states);
        let call = stage.session.call_tool("long", &JsonObject::new()).as_task(Duration::from_secs(600));
        // It takes longer than a call may.
        let result = call.on_task(move |task| seen.lock().unwrap().push(task.status)).await.unwrap();
        assert!(result.content.as_str().contains("worked as a task"), "{}", result.content);
        let states = states.lock().unwrap();
        assert_eq!((states.first(), states.last()), (Some(&TaskStatus::Working), Some(&TaskStatus::Completed)));
    });
}

#[test]
fn a_task_can_ask() {
    let answering = || {
        client()
            .on_elicit(|_, _| async { Ok(ElicitResult { action: ElicitAction::Accept, content: None, meta: None }) })
    };
    in_both_eras(answering, async |stage| {
        let call = stage.session.call_tool("long-ask", &JsonObject::new()).as_task(None);
        let result = call.await.unwrap();
        assert!(result.content.as_str().contains("Ann"), "{}", result.content);
    });
}
