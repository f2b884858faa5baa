//! Output of processes: no line is lost without a notice, no process stalls, no memory grows.

use std::time::Duration;

use protomcp_supervisor::{Event, Guardian, MAX_LINE, Process, Status, Stream};
use protomcp_testing::until;

use crate::support::{both, guarded, is_alive, lines_of, next, patient, rest, run, shell, spawn};

#[tokio::test]
async fn the_last_lines_before_an_end_come_before_the_end() {
    for guardian in both() {
        let command =
            shell("i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i; echo e$i >&2; done; printf last; kill -KILL $$")
                .guardian(guardian);
        for _ in 0..5 {
            let (events, exit) = run(&command).await;
            let (out, err) = (lines_of(&events, Stream::Stdout), lines_of(&events, Stream::Stderr));
            assert_eq!(out.len(), 201);
            assert_eq!(out.last(), Some(&"last"));
            assert_eq!(err.len(), 200);
            assert_eq!(exit.status, Status::Signal(9));
        }
    }
}

#[tokio::test]
async fn the_end_carries_the_last_twenty_lines_of_stderr() {
    for guardian in both() {
        let (_, exit) = run(&shell("seq 1 50 >&2; echo not this; exit 1").guardian(guardian)).await;
        let expected: Vec<String> = (31..=50).map(|number| number.to_string()).collect();
        assert_eq!(exit.stderr_tail, expected);
    }
}

#[tokio::test]
async fn a_survivor_that_holds_the_outputs_does_not_hold_up_the_end() {
    // Without a guardian a process in its own session survives, and keeps the pipes open.
    let script = "setsid sh -c 'echo $$ > \"$PID\"; exec sleep 1000' & while [ ! -s \"$PID\" ]; do :; done; echo done";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let (events, exit) = run(&shell(script).env("PID", &file).guardian(Guardian::None)).await;
    assert_eq!(lines_of(&events, Stream::Stdout), ["done"]);
    assert_eq!(exit.status, Status::Code(0));
    let survivor: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(is_alive(survivor), "this test needs a survivor");
    crate::support::signal(survivor, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn the_rest_of_the_pipe_is_read_after_the_timeout() {
    // A survivor keeps the pipe open, and a busy but brisk owner keeps the reading held up beyond the end.
    let script =
        "setsid sh -c 'echo $$ > \"$PID\"; exec sleep 1000' & while [ ! -s \"$PID\" ]; do :; done; seq 1 24000";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let (_process, mut events) = spawn(&shell(script).env("PID", &file).guardian(Guardian::None)).await;
    let mut lines = 0;
    while let Some(Event::Line { text, .. }) = next(&mut events).await {
        lines += 1;
        assert_eq!(text, lines.to_string());
        if lines < 3_000 && lines % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(lines, 24_000);
    let survivor: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    crate::support::signal(survivor, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn long_lines_are_cut_and_say_so_and_the_next_one_is_whole() {
    for guardian in both() {
        let (events, _) =
            run(&shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo next").guardian(guardian)).await;
        let lines = lines_of(&events, Stream::Stdout);
        let cut = format!("{} … [{} more bytes of this line were cut]", "x".repeat(MAX_LINE), 100_000 - MAX_LINE);
        assert_eq!(lines, [cut.as_str(), "next"]);
    }
}

#[tokio::test]
async fn bytes_that_are_not_text_are_shown_as_far_as_they_are() {
    let (events, _) = run(&shell("printf 'a\\377b\\n'").guardian(guarded())).await;
    assert_eq!(lines_of(&events, Stream::Stdout), ["a\u{fffd}b"]);
}

/// Lines of a flood, and what a notice among them says was left out.
fn tally(events: &[Event], stream: Stream) -> (usize, usize, usize) {
    let (mut lines, mut notices, mut skipped) = (0, 0, 0);
    for text in lines_of(events, stream) {
        match text.strip_prefix('[').and_then(|text| text.split_once(" line")) {
            Some((count, _)) => {
                notices += 1;
                skipped += count.parse::<usize>().unwrap();
            }
            None => lines += 1,
        }
    }
    (lines, notices, skipped)
}

#[tokio::test]
async fn an_unread_flood_does_not_stall_the_process() {
    for guardian in both() {
        let (process, mut events) =
            spawn(&shell("yes line | head -n 2000000 >&2; echo end >&2").guardian(guardian)).await;
        while is_alive(process.pid()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (all, exit) = rest(&mut events).await;
        let (lines, notices, skipped) = tally(&all, Stream::Stderr);
        assert_eq!(lines + skipped, 2_000_001);
        assert!(notices >= 1);
        assert!(lines < 100_000, "{lines} lines were kept");
        assert_eq!(exit.stderr_tail.last().map(String::as_str), Some("end"), "the tail knows what the queue left out");
    }
}

#[tokio::test]
async fn a_slow_reader_gets_what_it_can_and_learns_of_the_rest() {
    let (_process, mut events) = spawn(&shell("yes line | head -n 2000000").guardian(guarded())).await;
    let mut all = Vec::new();
    let exit = loop {
        match next(&mut events).await {
            Some(Event::Exited(exit)) => break exit,
            Some(event) => all.push(event),
            None => panic!("no end"),
        }
        if all.len() < 100 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let (lines, notices, skipped) = tally(&all, Stream::Stdout);
    assert_eq!(lines + skipped, 2_000_000);
    assert!(notices >= 1, "it was slow");
    assert_eq!(exit.status, Status::Code(0));
}

#[tokio::test]
async fn a_reader_that_keeps_up_misses_nothing() {
    // On the runtime's only thread, where reader and driver must share their turns.
    let (events, _) = run(&shell("seq 1 100000").guardian(guarded())).await;
    let lines = lines_of(&events, Stream::Stdout);
    assert_eq!(lines.len(), 100_000);
    assert!(lines.iter().enumerate().all(|(at, text)| *text == (at + 1).to_string()));
}

#[tokio::test]
async fn an_owner_who_does_not_listen_holds_nothing_up() {
    for guardian in both() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("done");
        let command = shell("yes line | head -n 500000; touch \"$DONE\"").env("DONE", &file).guardian(guardian);
        let (process, events) = Process::spawn(&command, patient()).await.unwrap();
        drop(events);
        until("the process has written all", || file.exists()).await;
        drop(process);
    }
}
