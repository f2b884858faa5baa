//! A process that does not read, and an owner that does not listen.

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{
    ActiveToolsResponse, CallToolRequest, Envelope, GetActiveToolsRequest, ListPromptsRequest, LogMessage,
    PromptListResponse,
};
use protomcp_link::{CallError, Config};
use tokio::io::AsyncWriteExt;

use super::peer::{Peer, connected, heard, join, line, soon};
use crate::machine::talk::SECOND;

fn large(bytes: usize) -> CallToolRequest {
    CallToolRequest { arguments_json: vec![b' '; bytes].into(), ..Default::default() }
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_process_that_does_not_read_fail() {
    let config = Config { max_unwritten: 10_000, ..Config::default() };
    let (link, mut events, peer) = connected(config, 100).await;
    let call = |seconds: u32| {
        let link = link.clone();
        tokio::spawn(async move { soon(link.call(large(6000), seconds * SECOND)).await.unwrap_err() })
    };
    // The first is on its way into the pipe, the next two wait, and then there is no more room.
    let first = call(3);
    tokio::task::yield_now().await;
    let waiting = [call(2), call(1)];
    let refused = [call(1), call(1)];
    for refused in refused {
        let error = soon(refused).await.unwrap();
        assert!(matches!(error, CallError::Busy(3)), "{error}");
    }
    for waiting in waiting {
        let error = soon(waiting).await.unwrap();
        assert!(matches!(error, CallError::TimedOut(_)), "{error}");
    }
    let error = soon(first).await.unwrap();
    assert!(matches!(error, CallError::TimedOut(_)), "{error}");

    drop(peer);
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
}

#[tokio::test(start_paused = true)]
async fn a_link_to_a_process_that_does_not_read_can_be_closed() {
    let (link, mut events, mut peer) = connected(Config::default(), 100).await;
    let (answer, ()) = join!(link.call(large(6000), 9 * SECOND), async {
        tokio::time::sleep(SECOND).await;
        link.close();
    });
    assert!(matches!(answer.unwrap_err(), CallError::Closed(_)));
    assert_eq!(heard(&mut events).await, "closed: it was closed on purpose");
    // It finds the beginning of a frame and then the end.
    assert_eq!(peer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn answers_are_read_while_the_process_does_not_read() {
    let (link, _events, mut peer) = connected(Config::default(), 100).await;
    let blocked = tokio::spawn({
        let link = link.clone();
        async move { soon(link.call(large(6000), 9 * SECOND)).await }
    });
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        // Whichever was first, the answer to the small one comes while the large one waits in the pipe.
        for id in ["req-1", "req-2"] {
            peer.says(id, PromptListResponse::default()).await;
        }
    });
    answer.unwrap();
    assert!(soon(blocked).await.unwrap().is_err(), "it was answered with another kind of message");
}

fn log(number: usize, size: usize) -> LogMessage {
    LogMessage { level: number.to_string(), data_json: vec![b' '; size].into(), ..Default::default() }
}

#[tokio::test(start_paused = true)]
async fn a_slow_owner_blocks_the_process_and_loses_nothing() {
    // The number and size of logs on their way: the queue, one read, and the capacity of the pipe.
    for (size, count, most) in [(0, 20_000, 1024 + (65_536 + 4096) / 8), (1 << 20, 200, 64 + 2)] {
        let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
        let (sent, mut progress) = tokio::sync::watch::channel(0);
        let flood = tokio::spawn(async move {
            for number in 0..count {
                peer.says("", log(number, size)).await;
                sent.send(number + 1).unwrap();
            }
            peer
        });
        // Deadlines hold although the owner takes no events.
        let error = soon(link.call(CallToolRequest::default(), SECOND)).await.unwrap_err();
        assert!(matches!(error, CallError::TimedOut(_)), "{error}");
        tokio::time::sleep(SECOND).await;
        let held_up = *progress.borrow_and_update();
        assert!(held_up < count.min(most), "{held_up} logs of {size} bytes were taken");

        for number in 0..count {
            assert_eq!(heard(&mut events).await, format!("log {number}"));
        }
        let mut peer = soon(flood).await.unwrap();
        assert_eq!(peer.reads("call_tool").await, "req-1");
        assert_eq!(peer.reads("cancel").await, "req-1");
        let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
            let id = peer.reads("list_prompts_request").await;
            peer.says(&id, PromptListResponse::default()).await;
        });
        answer.unwrap();
    }
}

/// With the real clock: a stopped one rings every timer as soon as nothing else happens.
#[tokio::test]
async fn a_burst_is_read_to_its_end_without_anything_else_happening() {
    let (_link, mut events, mut peer) = connected(Config::default(), 1 << 20).await;
    for number in 0..8 {
        peer.says("", log(number, 100_000)).await;
    }
    for number in 0..8 {
        assert_eq!(heard(&mut events).await, format!("log {number}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_owner_gets_the_close_last() {
    let (link, mut events, mut peer) = connected(Config::default(), 1 << 20).await;
    let count = 3000;
    for number in 0..count {
        peer.says("", log(number, 0)).await;
    }
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, 40 * SECOND), async {
        tokio::time::sleep(SECOND).await;
        link.close();
    });
    assert!(matches!(answer.unwrap_err(), CallError::Closed(_)), "calls fail before the owner listens");
    let mut heard = Vec::new();
    while let Some(event) = events.recv().await {
        heard.push(line(Some(event)));
    }
    assert_eq!(heard.pop().unwrap(), "closed: it was closed on purpose");
    for (number, heard) in heard.iter().enumerate() {
        assert_eq!(*heard, format!("log {number}"));
    }
    assert!(heard.len() >= 1024, "{}", heard.len());
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_leaves_while_it_is_behind_ends_the_link() {
    let (link, events, mut peer) = connected(Config::default(), 1 << 20).await;
    for number in 0..3000 {
        peer.says("", log(number, 0)).await;
    }
    tokio::time::sleep(SECOND).await;
    drop(events);
    assert_eq!(peer.next().await, None);
    assert!(link.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_reads_no_replies_is_not_read() {
    let config = Config { max_unwritten: 10_000, ..Config::default() };
    let (link, mut events, peer) = connected(config, 4096).await;
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if line(Some(event)).starts_with("asked") {
                link.reply("", ActiveToolsResponse { tool_names: vec!["n".repeat(1000)] });
            }
        }
    });
    let (read, mut write) = tokio::io::split(peer.io);
    let mut ask = Vec::new();
    let question = Envelope::new("", GetActiveToolsRequest {});
    Encoder::new(Limits::default()).encode_envelope(&question, &mut ask).unwrap();
    // The pipe, one read and the replies before that hold less.
    let (count, most) = (5000, 3 * 4096 / ask.len());
    let (sent, progress) = tokio::sync::watch::channel(0);
    let flood = tokio::spawn(async move {
        for number in 0..count {
            write.write_all(&ask).await.unwrap();
            sent.send(number + 1).unwrap();
        }
        write
    });
    tokio::time::sleep(SECOND).await;
    let held_up = *progress.borrow();
    assert!(held_up < most, "{held_up} questions were taken");

    let mut peer = Peer::new(tokio::io::join(read, tokio::io::sink()));
    for _ in 0..count {
        peer.reads("active_tools").await;
    }
    soon(flood).await.unwrap();
}

#[tokio::test]
async fn a_flood_of_frames_yields_to_other_tasks() {
    let (link, mut events, mut peer) = connected(Config::default(), 8 << 20).await;
    // All of it is there before the link has a look at it.
    let mut flood = Vec::new();
    let envelope = Envelope::new("", log(0, 0));
    for _ in 0..50_000 {
        Encoder::new(Limits::default()).encode_envelope(&envelope, &mut flood).unwrap();
    }
    peer.io.write_all(&flood).await.unwrap();
    let (mut taken, mut turns, mut most) = (0, 0, 0);
    while taken < 50_000 {
        tokio::task::yield_now().await;
        let mut in_turn = 0;
        while events.try_recv().is_ok() {
            in_turn += 1;
        }
        (taken, turns, most) = (taken + in_turn, turns + 1, most.max(in_turn));
        assert!(turns < 100_000, "{taken} of the messages arrived");
    }
    assert!(most <= 64, "{most} messages in one turn");
    drop(link);
}

#[tokio::test(start_paused = true)]
async fn frames_that_were_read_before_the_end_of_a_process_are_taken() {
    let (_link, mut events, mut peer) = connected(Config::default(), 1 << 20).await;
    for number in 0..1000 {
        peer.says("", log(number, 0)).await;
    }
    drop(peer);
    for number in 0..1000 {
        assert_eq!(heard(&mut events).await, format!("log {number}"));
    }
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
}
