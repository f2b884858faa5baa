//! The ladder with real processes, and what a stop, a kill and a drop leave behind: nothing.

use std::time::Duration;

use protomcp_supervisor::{Command, Event, Guardian, Process, Status, StopPolicy};
use protomcp_testing::{patience, until};
use tokio::sync::mpsc;

use crate::support::{
    Mark, both, expect_line, guarded, is_alive, next, patient, rest, shell, signal, spawn, spawn_with, stat,
};

/// A process with a child and a grandchild in its group.
const FAMILY: &str = "sleep 1000 & sh -c 'sleep 1000 & wait' & while [ $(ps -o pid= --ppid $$ | wc -l) -lt 3 ]; do :; done; echo up; wait";

fn impatient() -> StopPolicy {
    StopPolicy { close: Duration::ZERO, terminate: Duration::from_millis(50), kill: patience() }
}

#[tokio::test]
async fn a_process_that_leaves_when_its_link_closes_is_not_signalled() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    for guardian in both() {
        std::fs::write(&link, "open").unwrap();
        let script = "trap 'exit 9' TERM; echo up; while [ -e \"$LINK\" ]; do sleep 0.01; done; exit 4";
        let (process, mut events) = spawn(&shell(script).env("LINK", &link).guardian(guardian)).await;
        expect_line(&mut events, "up").await;
        process.stop();
        process.stop();
        assert_eq!(next(&mut events).await, Some(Event::CloseLink));
        std::fs::remove_file(&link).unwrap();
        let (others, exit) = rest(&mut events).await;
        assert_eq!((others, exit.status), (vec![], Status::Code(4)));
    }
}

#[tokio::test]
async fn a_process_that_keeps_its_link_gets_sigterm() {
    for guardian in both() {
        let script = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done";
        let policy = StopPolicy { close: Duration::from_millis(20), ..patient() };
        let (process, mut events) = spawn_with(&shell(script).guardian(guardian), policy).await;
        expect_line(&mut events, "up").await;
        process.stop();
        expect_line(&mut events, "bye").await;
        assert_eq!(rest(&mut events).await.1.status, Status::Code(5));
    }
}

#[tokio::test]
async fn sigterm_goes_to_the_whole_group() {
    for guardian in both() {
        let script = "trap : TERM; sh -c 'trap \"echo child; exit 0\" TERM; echo up; while :; do sleep 0.01; done' & \
                      while :; do wait && exit 6; done";
        let policy = StopPolicy { close: Duration::ZERO, ..patient() };
        let (process, mut events) = spawn_with(&shell(script).guardian(guardian), policy).await;
        expect_line(&mut events, "up").await;
        process.stop();
        expect_line(&mut events, "child").await;
        process.kill();
        rest(&mut events).await;
    }
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed() {
    for guardian in both() {
        let (process, mut events) =
            spawn_with(&shell("trap '' TERM; echo up; while :; do sleep 0.01; done").guardian(guardian), impatient())
                .await;
        expect_line(&mut events, "up").await;
        process.stop();
        assert_eq!(rest(&mut events).await.1.status, Status::Signal(9));
    }
}

#[tokio::test]
async fn a_suspended_process_wakes_up_to_leave() {
    for guardian in both() {
        let policy = StopPolicy { close: Duration::ZERO, ..patient() };
        let (process, mut events) = spawn_with(&shell("kill -STOP $$").guardian(guardian), policy).await;
        until("it is suspended", || stat(process.pid()).is_some_and(|fields| fields[0] == "T")).await;
        process.stop();
        assert_eq!(rest(&mut events).await.1.status, Status::Signal(15));
    }
}

#[tokio::test]
async fn a_kill_does_not_wait_for_the_ladder() {
    for guardian in both() {
        let (process, mut events) = spawn(&shell("trap '' TERM; echo up; sleep 1000").guardian(guardian)).await;
        expect_line(&mut events, "up").await;
        process.stop();
        assert_eq!(next(&mut events).await, Some(Event::CloseLink));
        process.kill();
        assert_eq!(rest(&mut events).await.1.status, Status::Signal(9));
    }
}

async fn family(guardian: Guardian, policy: StopPolicy) -> (Mark, Process, mpsc::Receiver<Event>) {
    let mark = Mark::new();
    let (process, mut events) = spawn_with(&mark.on(shell(FAMILY).guardian(guardian)), policy).await;
    expect_line(&mut events, "up").await;
    mark.wait_for("the grandchild is there", |bearers| {
        bearers.iter().filter(|(_, line)| line.starts_with("sleep")).count() == 2
    });
    (mark, process, events)
}

#[tokio::test]
async fn grandchildren_die_on_a_stop() {
    for guardian in both() {
        let (mark, process, mut events) = family(guardian, impatient()).await;
        process.stop();
        rest(&mut events).await;
        mark.wait_until_gone();
    }
}

#[tokio::test]
async fn grandchildren_die_on_a_kill() {
    for guardian in both() {
        let (mark, process, mut events) = family(guardian, patient()).await;
        process.kill();
        // Waits without giving the runtime a turn: a kill does not depend on it.
        mark.wait_until_gone();
        rest(&mut events).await;
    }
}

#[tokio::test]
async fn grandchildren_die_on_a_drop_and_the_end_is_still_reported() {
    for guardian in both() {
        let (mark, process, mut events) = family(guardian, patient()).await;
        drop(process);
        // Waits without giving the runtime a turn: a drop does not depend on it.
        mark.wait_until_gone();
        assert_eq!(rest(&mut events).await.1.status, Status::Signal(9));
    }
}

#[tokio::test]
async fn what_a_process_leaves_behind_dies_after_it() {
    for guardian in both() {
        let mark = Mark::new();
        let (_process, mut events) = spawn(&mark.on(shell("sleep 1000 & exit 3").guardian(guardian))).await;
        assert_eq!(rest(&mut events).await.1.status, Status::Code(3));
        mark.wait_until_gone();
    }
}

#[test]
fn a_drop_needs_no_runtime_and_waits_for_the_guardian() {
    for guardian in both() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mark, process, events) = runtime.block_on(family(guardian.clone(), patient()));
        drop(runtime);
        drop(events);
        assert!(is_alive(process.pid()), "the end of the runtime is not the end of the process");
        drop(process);
        match guardian {
            Guardian::None => mark.wait_until_gone(),
            Guardian::CurrentExe | Guardian::Program(_) => assert_eq!(mark.bearers(), []),
        }
    }
}

#[tokio::test]
async fn no_zombie_stays_behind() {
    let ours = std::process::id().to_string();
    for guardian in both() {
        for dropped in [false, true] {
            let mark = Mark::new();
            let (process, mut events) = spawn(&mark.on(shell("echo up; sleep 1000").guardian(guardian.clone()))).await;
            expect_line(&mut events, "up").await;
            // With a guardian that is our child, without one the tool process itself.
            let is_ours = |pid: u32| stat(pid).is_some_and(|fields| fields[1] == ours);
            let children: Vec<u32> = mark.bearers().iter().map(|(pid, _)| *pid).filter(|pid| is_ours(*pid)).collect();
            assert_eq!(children.len(), 1);
            process.kill();
            let handle = (!dropped).then_some(process);
            until("our child was reaped", || !is_ours(children[0])).await;
            drop(handle);
            rest(&mut events).await;
        }
    }
}

#[tokio::test]
async fn the_end_of_one_generation_does_not_touch_the_other() {
    for guardian in both() {
        let (old_mark, new_mark) = (Mark::new(), Mark::new());
        let script = "echo up; exec sleep 1000";
        let (old, mut old_events) = spawn(&old_mark.on(shell(script).guardian(guardian.clone()))).await;
        let (new, mut new_events) = spawn(&new_mark.on(shell(script).guardian(guardian.clone()))).await;
        expect_line(&mut old_events, "up").await;
        expect_line(&mut new_events, "up").await;
        drop(old);
        assert_eq!(rest(&mut old_events).await.1.status, Status::Signal(9));
        old_mark.wait_until_gone();
        assert!(is_alive(new.pid()));

        // And the other way round: the younger one inherited nothing that keeps the older one alive or dying.
        let (older, mut older_events) = spawn(&old_mark.on(shell(script).guardian(guardian))).await;
        expect_line(&mut older_events, "up").await;
        drop(new);
        assert_eq!(rest(&mut new_events).await.1.status, Status::Signal(9));
        new_mark.wait_until_gone();
        assert!(is_alive(older.pid()));
    }
}

#[tokio::test]
async fn asking_after_the_end_is_harmless() {
    for guardian in both() {
        let (process, mut events) = spawn(&Command::new("true").guardian(guardian)).await;
        rest(&mut events).await;
        process.stop();
        process.kill();
    }
}

#[tokio::test]
async fn a_killed_guardian_ends_its_session() {
    let (mark, process, mut events) = family(guarded(), patient()).await;
    let guardians = mark.bearers_of("protomcp-guardian");
    assert_eq!(guardians.len(), 1);
    signal(guardians[0], rustix::process::Signal::KILL);
    assert_eq!(rest(&mut events).await.1.status, Status::Unknown);
    mark.wait_until_gone();
    drop(process);
}
