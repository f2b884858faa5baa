//! The table of tasks, without a process behind it.

use protomcp_mcp::{Limits, ServerInfo};

use super::*;

const ONE: SessionId = SessionId::DETACHED;

fn tasks() -> Tasks {
    Tasks::new(Sessions::new(ServerInfo::new("test", "1"), Limits::default()))
}

#[test]
fn a_task_is_known_to_its_own_session_only() {
    let (tasks, other) = (tasks(), SessionId::new(7));
    let mine = tasks.begin(ONE, None).unwrap().task;
    let id = mine.task_id.as_str();
    assert_eq!(tasks.find(ONE, id).unwrap().0, mine);
    assert_eq!(tasks.find(other, id).unwrap_err(), unknown(id));
    assert_eq!(tasks.cancel(other, id).unwrap_err(), unknown(id));
    assert_eq!((tasks.of(ONE), tasks.of(other)), (vec![mine.clone()], vec![]));
    tasks.close(other);
    assert!(tasks.find(ONE, id).is_ok());
    tasks.close(ONE);
    assert_eq!(tasks.find(ONE, id).unwrap_err(), unknown(id));
}

#[test]
fn what_ends_a_task_first_counts() {
    let tasks = tasks();
    let id = tasks.begin(ONE, None).unwrap().task.task_id;
    tasks.say(&id, "half".into());
    assert_eq!(tasks.find(ONE, &id).unwrap().0.status_message.as_deref(), Some("half"));
    tasks.end(&id, TaskStatus::Completed, None, CallToolResult::text("done"));
    tasks.say(&id, "late".into());
    tasks.end(&id, TaskStatus::Failed, Some("late".into()), CallToolResult::error("late"));
    assert_eq!(tasks.cancel(ONE, &id).unwrap_err().code, -32602);
    let (task, outcome) = tasks.find(ONE, &id).unwrap();
    assert_eq!((task.status, task.status_message), (TaskStatus::Completed, None));
    assert_eq!(outcome.get(), Some(&CallToolResult::text("done")));
}

#[test]
fn a_wish_is_granted_within_a_day() {
    for (wish, ttl) in [(None, 3_600_000), (Some(5), 5), (Some(u64::MAX), 86_400_000)] {
        assert_eq!(tasks().begin(ONE, wish).unwrap().task.ttl, Some(ttl));
    }
}

#[test]
fn a_session_has_so_many_tasks_until_one_is_forgotten() {
    let tasks = tasks();
    let ids: Vec<_> = (0..TASKS_OF_A_SESSION).map(|_| tasks.begin(ONE, None).unwrap().task.task_id).collect();
    assert_eq!(tasks.begin(ONE, None).unwrap_err().code, -32603);
    assert!(tasks.begin(SessionId::new(7), None).is_ok());
    let (_, outcome) = tasks.find(ONE, &ids[0]).unwrap();
    tasks.forget(&ids[0]);
    assert!(outcome.get().is_some_and(|result| result.is_error));
    assert!(tasks.begin(ONE, None).is_ok());
    assert_eq!(tasks.of(ONE).iter().map(|task| &task.task_id).take(2).collect::<Vec<_>>(), [&ids[1], &ids[2]]);
}

#[test]
fn the_oldest_results_make_room_for_new_ones() {
    let tasks = tasks();
    let other = tasks.begin(SessionId::new(7), None).unwrap().task.task_id;
    let ids: Vec<_> = (0..4).map(|_| tasks.begin(ONE, None).unwrap().task.task_id).collect();
    let text = "x".repeat(1000);
    // The last one goes on.
    for id in ids[..3].iter().chain([&other]) {
        tasks.end(id, TaskStatus::Completed, None, CallToolResult::text(text.as_str()));
    }
    for (limit, left) in [(5000, &ids[..]), (2500, &ids[1..]), (0, &ids[2..])] {
        tasks.lock().make_room(ONE, limit);
        assert_eq!(tasks.of(ONE).into_iter().map(|task| task.task_id).collect::<Vec<_>>(), left, "{limit}");
    }
    assert!(tasks.find(SessionId::new(7), &other).is_ok());
}
