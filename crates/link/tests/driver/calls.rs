//! Calls through a [`Link`].

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use protomcp_codec::{Field, Raw};
use protomcp_envelope::{
    ActiveToolsResponse, CallAnswer, CallToolRequest, CallToolResponse, CreateTaskResponse, GetActiveToolsRequest,
    ListPromptsRequest, Msg, ProgressNotification, PromptDefinition, PromptListResponse, ReloadResponse,
    ToolListResponse,
};
use protomcp_link::{CallError, Config, Options};
use tokio::io::{AsyncReadExt, BufStream};
use tokio::time::Instant;

use super::peer::{connected, heard, join, serve, soon};
use crate::machine::talk::{SECOND, result};

#[tokio::test(start_paused = true)]
async fn a_call_returns_the_message_its_request_is_owed() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let prompts = PromptListResponse { prompts: vec![PromptDefinition { name: "p".into(), ..Default::default() }] };
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        let id = peer.reads("list_prompts_request").await;
        peer.says(&id, prompts.clone()).await;
    });
    assert_eq!(answer.unwrap(), prompts);

    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        let id = peer.reads("list_prompts_request").await;
        peer.says(&id, result("no prompts at all")).await;
    });
    let error = answer.unwrap_err();
    assert!(matches!(error, CallError::Unexpected(_)), "{error}");
    assert_eq!(error.to_string(), "expected prompt_list_response, got call_result");
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_returns_a_result_or_a_task() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let call = || link.call_tool(CallToolRequest::default(), SECOND, Options::default());
    let (one, two, ()) = join!(call(), call(), async {
        let (one, two) = (peer.reads("call_tool").await, peer.reads("call_tool").await);
        peer.says(&two, CreateTaskResponse { task_id: "t".into() }).await;
        peer.says(&one, result("done")).await;
    });
    assert_eq!(one.unwrap(), CallAnswer::Result(result("done")));
    assert_eq!(two.unwrap(), CallAnswer::Task(CreateTaskResponse { task_id: "t".into() }));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let waiting = tokio::spawn({
        let link = link.clone();
        async move { soon(link.call(CallToolRequest::default(), SECOND)).await }
    });
    let id = peer.reads("call_tool").await;
    let then = Instant::now();
    waiting.abort();
    assert_eq!(peer.reads("cancel").await, id);
    assert_eq!(then.elapsed(), Duration::ZERO, "immediately, and not because its time was over");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_a_dropped_call_has_not_seen_is_cancelled() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    {
        let mut call = pin!(link.call_tool(CallToolRequest::default(), SECOND, Options::default()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let id = peer.reads("call_tool").await;
        peer.says(&id, CreateTaskResponse { task_id: "t".into() }).await;
        // A later answer says that the driver has delivered the task.
        let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
            let id = peer.reads("list_prompts_request").await;
            peer.says(&id, PromptListResponse::default()).await;
        });
        answer.unwrap();
    }
    let Some(Msg::TaskCancel(cancel)) = peer.next().await.unwrap().msg else { panic!("the task is cancelled") };
    assert_eq!(cancel.task_id, "t");
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_immediately_never_reaches_the_process() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    {
        let call = pin!(link.call(ListPromptsRequest {}, SECOND));
        assert!(call.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let (answer, ()) = join!(link.call(GetActiveToolsRequest {}, Duration::from_millis(10)), async {
        peer.reads("get_active_tools").await;
    });
    assert!(matches!(answer.unwrap_err(), CallError::TimedOut(_)));
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_is_not_cancelled_when_it_is_dropped() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    for _ in 0..2 {
        let (answer, ()) = join!(link.call_tool(CallToolRequest::default(), SECOND, Options::default()), async {
            // Also: no cancel of the call before.
            let id = peer.reads("call_tool").await;
            peer.says(&id, result("done")).await;
        });
        answer.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn progress_is_heard_before_the_answer_and_in_order() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let (heard, reports) = mpsc::channel();
    let options = Options::default().on_progress(move |report| heard.send(report.progress).unwrap());
    let (answer, ()) = join!(link.call_tool(CallToolRequest::default(), SECOND, options), async {
        let envelope = peer.next().await.unwrap();
        let Some(Msg::CallTool(call)) = envelope.msg else { panic!() };
        assert_eq!(call.progress_token, envelope.request_id);
        for progress in 1..=3 {
            let progress_token = call.progress_token.clone();
            peer.says("", ProgressNotification { progress_token, progress, ..Default::default() }).await;
        }
        peer.says(&envelope.request_id, result("done")).await;
        let progress_token = call.progress_token.clone();
        peer.says("", ProgressNotification { progress_token, progress: 4, ..Default::default() }).await;
    });
    assert_eq!(answer.unwrap(), CallAnswer::Result(result("done")));
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn who_wants_to_know_of_a_task_is_told_and_a_result_is_none() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    for (answer, is_task) in [(CreateTaskResponse { task_id: "t".into() }.into(), true), (result("done").into(), false)]
    {
        let answer: Msg = answer;
        let heard = Arc::new(AtomicBool::new(false));
        let on_task = {
            let heard = Arc::clone(&heard);
            move || heard.store(true, Ordering::Relaxed)
        };
        let call = link.call_tool(CallToolRequest::default(), SECOND, Options::default().on_task(on_task));
        let (outcome, ()) = join!(call, async {
            let id = peer.reads("call_tool").await;
            peer.says(&id, answer).await;
        });
        outcome.unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), is_task);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_listener_the_call_asks_for_no_progress() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    let request = CallToolRequest { progress_token: "left over".into(), ..Default::default() };
    let (answer, ()) = join!(link.call_tool(request, SECOND, Options::default()), async {
        let envelope = peer.next().await.unwrap();
        let Some(Msg::CallTool(call)) = envelope.msg else { panic!() };
        assert_eq!(call.progress_token, "");
        let progress_token = envelope.request_id.clone();
        peer.says("", ProgressNotification { progress_token, ..Default::default() }).await;
        peer.says(&envelope.request_id, result("done")).await;
    });
    answer.unwrap();
    let noticed = heard(&mut events).await;
    assert!(noticed.contains("progress"), "{noticed}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_cancelled_and_the_next_one_works() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let started = Instant::now();
    let error = soon(link.call(CallToolRequest::default(), 7 * SECOND)).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut(timeout) if timeout == 7 * SECOND), "{error}");
    assert!((7 * SECOND..8 * SECOND).contains(&started.elapsed()), "{:?}", started.elapsed());
    let late = peer.reads("call_tool").await;
    assert_eq!(peer.reads("cancel").await, late);

    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        let id = peer.reads("list_prompts_request").await;
        peer.says(&late, result("late")).await;
        peer.says_raw(&Raw::new(late, Field::ResultJson, "late payload")).await;
        peer.says(&id, PromptListResponse::default()).await;
    });
    answer.unwrap();
}

#[tokio::test(start_paused = true)]
async fn deadlines_hold_in_whatever_order_they_were_set() {
    let (link, _events, _peer) = connected(Config::default(), 4096).await;
    let started = Instant::now();
    let call = |seconds: u32| {
        let link = link.clone();
        async move {
            soon(link.call(ListPromptsRequest {}, seconds * SECOND)).await.unwrap_err();
            started.elapsed().as_secs()
        }
    };
    let ended = join!(call(5), call(2), call(9), call(1));
    assert_eq!(ended, (5, 2, 9, 1));
}

#[tokio::test(start_paused = true)]
async fn requests_reach_the_owner_and_replies_the_process() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    peer.says("mine", GetActiveToolsRequest {}).await;
    assert_eq!(heard(&mut events).await, "asked get_active_tools[mine]");
    link.reply("mine", ActiveToolsResponse::default());
    assert_eq!(peer.reads("active_tools").await, "mine");
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_asked_for_and_ends_in_an_event() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    link.reload();
    let id = peer.reads("reload").await;
    peer.says(&id, ReloadResponse { success: true, ..Default::default() }).await;
    peer.says("", ToolListResponse::default()).await;
    // The 500 ms of silence pass by the driver's own clock.
    assert_eq!(heard(&mut events).await, "ready after Reload");
}

#[tokio::test(start_paused = true)]
async fn interrupting_fails_tool_calls_immediately() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let (answer, ()) = join!(link.call_tool(CallToolRequest::default(), SECOND, Options::default()), async {
        let id = peer.reads("call_tool").await;
        link.interrupt();
        assert_eq!(peer.reads("cancel").await, id);
    });
    assert!(matches!(answer.unwrap_err(), CallError::Interrupted));
}

#[tokio::test(start_paused = true)]
async fn a_reading_handler_gets_empty_frames_until_its_call_answers() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    let (answer, ()) = join!(link.call_tool(CallToolRequest::default(), SECOND, Options::default()), async {
        let id = peer.reads("call_tool").await;
        link.work_around_two_readers();
        let started = Instant::now();
        for _ in 0..3 {
            let mut frame = [1; 4];
            peer.io.read_exact(&mut frame).await.unwrap();
            assert_eq!(frame, [0; 4]);
        }
        assert!(started.elapsed() >= Duration::from_millis(20), "{:?}", started.elapsed());
        peer.says(&id, result("done")).await;
    });
    answer.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_buffers_is_flushed() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (link, _events, mut peer) = serve(BufStream::new(ours), theirs, Config::default()).await;
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        let id = peer.reads("list_prompts_request").await;
        peer.says(&id, PromptListResponse::default()).await;
    });
    answer.unwrap();
}

#[tokio::test(start_paused = true)]
async fn compressed_answers_of_any_size_are_inflated() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    for (size, declared) in [(1000, true), (1000, false), (3 << 20, true), (3 << 20, false)] {
        let call = link.call_tool(CallToolRequest::default(), SECOND, Options::default());
        let (answer, ()) = join!(call, async {
            let id = peer.reads("call_tool").await;
            let mut raw = Raw::new(id, Field::ResultJson, vec![b'x'; size]).compress();
            assert_eq!(raw.header.compression, "zstd");
            raw.header.uncompressed_size *= u64::from(declared);
            peer.says_raw(&raw).await;
        });
        let CallAnswer::Result(result) = answer.unwrap() else { panic!() };
        assert!(result.result_json == vec![b'x'; size], "{size}");
    }
}

#[tokio::test]
async fn many_calls_over_a_small_pipe_all_get_their_own_answer() {
    let (link, _events, mut peer) = connected(Config::default(), 100).await;
    let calls = 2000;
    let callers: Vec<_> = (0..calls)
        .map(|number: u32| {
            let link = link.clone();
            tokio::spawn(async move {
                let arguments_json = number.to_string().into();
                let request = CallToolRequest { arguments_json, ..Default::default() };
                let answer = soon(link.call_tool(request, 60 * SECOND, Options::default())).await.unwrap();
                let CallAnswer::Result(result) = answer else { panic!() };
                assert_eq!(result.result_json, number.to_string());
            })
        })
        .collect();
    for _ in 0..calls {
        let envelope = peer.next().await.unwrap();
        let Some(Msg::CallTool(call)) = envelope.msg else { panic!() };
        let result = CallToolResponse { result_json: call.arguments_json, ..Default::default() };
        peer.says(&envelope.request_id, result).await;
    }
    for caller in callers {
        soon(caller).await.unwrap();
    }
}
