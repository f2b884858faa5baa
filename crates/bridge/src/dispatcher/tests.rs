//! Requests around the end of a process.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use protomcp_link::{Config, Event, drive};
use protomcp_server::{Context, Limits, ServerInfo};
use protomcp_supervisor::{Command, Guardian, Process, StopPolicy};
use tokio::io::DuplexStream;

use super::*;
use crate::compat::socket_readers::SocketReaders;
use crate::process::middleware::MiddlewareChain;
use crate::process::sdk::SdkFeatures;
use crate::process::tool_process::{Child, Connection};

const LIMITS: QueueLimits = QueueLimits {
    capacity: 9,
    turn: Duration::from_secs(60),
    handler: Duration::from_secs(60),
    grace: Duration::from_secs(10),
};

/// A process, its end of the link, and the events of the link.
async fn process(generation: Generation) -> (Arc<ToolProcess>, DuplexStream, mpsc::Receiver<Event>) {
    let command = Command::new("sleep").arg("60").guardian(Guardian::None);
    let (process, _events) = Process::spawn(&command, StopPolicy::default()).await.unwrap();
    let (_, exit) = watch::channel(None);
    let (end, io) = tokio::io::duplex(1024);
    let (link, events) = drive(io, Config::default());
    let connection = Connection { link, readers: SocketReaders::One, sdk: SdkFeatures::default() };
    let (child, chain) = (Child { process, exit }, MiddlewareChain::new(Vec::new()));
    (Arc::new(ToolProcess::new(generation, child, connection, 1, chain)), end, events)
}

/// A request may end without an answer at any time, and its handler goes on.
#[tokio::test]
async fn a_request_without_an_answer_counts_as_given_up() {
    let sessions = ServerHandle::new(ServerInfo::new("tools", "1"), Limits::default());
    let (dispatcher, _idle) = Dispatcher::new(LIMITS, Arc::default(), sessions);
    let (first, _end, _events) = process(Generation::FIRST).await;
    dispatcher.add(Arc::clone(&first));
    dispatcher.release_to(Generation::FIRST);
    let mut caller = Caller::of(&Context::detached());
    caller.key.owner = Owner::Principal("ann".into());
    let _permit = dispatcher.acquire(caller, "add").await.unwrap();
    let is_of_the_call = || matches!(dispatcher.recipient(Generation::FIRST, ""), Recipient::Call(..));

    let mut read = dispatcher.begin_request(&first, &Context::detached());
    assert!(!is_of_the_call(), "the read is another owner's");
    read.mark_answered();
    drop(read);
    assert!(is_of_the_call());

    let read = dispatcher.begin_request(&first, &Context::detached());
    let name = read.name().to_string();
    drop(read);
    assert!(!is_of_the_call());
    dispatcher.answered_late(Generation::FIRST, &name);
    assert!(is_of_the_call());
}

async fn is_pending(future: &mut (impl Future + Unpin)) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}

/// The core learns of the end of a process from its exit, which comes after the end of the link.
#[tokio::test]
async fn requests_after_the_end_of_a_process_wait_for_the_next_one() {
    let sessions = ServerHandle::new(ServerInfo::new("tools", "1"), Limits::default());
    let (dispatcher, _idle) = Dispatcher::new(LIMITS, Arc::default(), sessions);
    let (first, end, _events) = process(Generation::FIRST).await;
    dispatcher.add(Arc::clone(&first));
    dispatcher.release_to(Generation::FIRST);
    drop(end);
    while !first.link().is_closed() {
        tokio::task::yield_now().await;
    }

    let mut call = Box::pin(dispatcher.acquire(Caller::of(&Context::detached()), "add"));
    let mut read = Box::pin(dispatcher.serving(&Owner::Local));
    assert!(is_pending(&mut call).await && is_pending(&mut read).await);

    let next = Generation::FIRST.next();
    let (second, _end, _events) = process(next).await;
    dispatcher.add(second);
    dispatcher.release_to(next);
    assert_eq!(call.await.unwrap().process().generation(), next);
    assert_eq!(read.await.unwrap().generation(), next);
}
