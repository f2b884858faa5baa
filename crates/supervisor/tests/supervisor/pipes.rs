//! Standard input and output as pipes.

use protomcp_supervisor::{Command, Event, Pipes, Status, Stream};
use protomcp_testing::in_time;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::support::{both, next, shell, spawn};

#[tokio::test]
async fn the_owner_talks_to_the_process() {
    for guardian in both() {
        let command = shell("echo hello >&2; cat; echo end").guardian(guardian).piped();
        let (mut process, mut events) = spawn(&command).await;
        let Pipes { mut stdin, stdout } = process.take_pipes().unwrap();
        assert!(process.take_pipes().is_none());
        let mut stdout = BufReader::new(stdout).lines();
        stdin.write_all(b"one\n").await.unwrap();
        assert_eq!(stdout.next_line().await.unwrap().as_deref(), Some("one"));
        drop(stdin);
        // No other process holds the ends of the pipes.
        let end = in_time(stdout.next_line()).await.unwrap();
        assert_eq!(end.unwrap().as_deref(), Some("end"));
        assert_eq!(in_time(stdout.next_line()).await.unwrap().unwrap(), None);
        assert_eq!(
            next(&mut events).await,
            Some(Event::Line { stream: Stream::Stderr, text: "hello".to_owned() }),
            "standard output is not captured"
        );
        let Some(Event::Exited(exit)) = next(&mut events).await else { panic!() };
        assert_eq!((exit.status, exit.stderr_tail), (Status::Code(0), vec!["hello".to_owned()]));
    }
}

#[tokio::test]
async fn without_pipes_standard_input_is_empty() {
    for guardian in both() {
        let command = Command::new("cat").guardian(guardian);
        let (mut process, mut events) = spawn(&command).await;
        assert!(process.take_pipes().is_none());
        assert!(matches!(next(&mut events).await, Some(Event::Exited(exit)) if exit.status == Status::Code(0)));
    }
}

#[tokio::test]
async fn the_end_of_the_owner_ends_the_pipes() {
    for guardian in both() {
        let (mut process, _events) = spawn(&shell("cat; exec sleep 1000").guardian(guardian).piped()).await;
        let mut pipes = process.take_pipes().unwrap();
        drop(process);
        let mut rest = Vec::new();
        in_time(pipes.stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
        assert!(rest.is_empty());
    }
}
