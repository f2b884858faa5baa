//! Our socket, with a plain one at the other end.

use std::io::Read;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

fn pair() -> (Socket, UnixStream) {
    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let theirs = theirs.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    (Socket::new(ours).unwrap(), theirs)
}

/// A thread that waits for the socket sleeps while the peer reads earlier bytes. The system counts its wakes.
#[cfg(target_os = "linux")]
#[test]
fn a_reading_peer_causes_no_wake() {
    const READS: usize = 50;
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut ours, theirs) = pair();
            for _ in 0..READS {
                ours.write_all(b"x").await.unwrap();
            }
            sender.send((theirs, std::fs::read_link("/proc/thread-self").unwrap())).unwrap();
            ours.read_u8().await.unwrap()
        })
    });
    let (mut theirs, thread) = receiver.recv().unwrap();
    let status = || std::fs::read_to_string(std::path::Path::new("/proc").join(&thread).join("status")).unwrap();
    let wakes = || -> usize {
        let status = status();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    };
    while !status().contains("State:\tS") {
        std::thread::yield_now();
    }
    let before = wakes();
    for _ in 0..READS {
        theirs.read_exact(&mut [0]).unwrap();
        // Time for a needless wake to happen.
        std::thread::sleep(Duration::from_millis(1));
    }
    let woken = wakes() - before;
    theirs.write_all(b"y").unwrap();
    assert_eq!(waiter.join().unwrap(), b'y');
    assert!(woken < READS / 2, "woken {woken} times");
}

#[tokio::test]
async fn more_than_the_system_holds_goes_both_ways() {
    let (ours, mut theirs) = pair();
    let sent: Vec<u8> = (0..4_000_000u32).map(|n| (n % 251) as u8).collect();
    let echo = tokio::task::spawn_blocking(move || {
        // The peer replies only after it has read everything, so the writer has to wait for room.
        let mut bytes = vec![0; 4_000_000];
        std::thread::sleep(Duration::from_millis(20));
        theirs.read_exact(&mut bytes).unwrap();
        theirs.write_all(&bytes).unwrap();
    });
    let (mut read, mut write) = tokio::io::split(ours);
    let mut came = vec![0; sent.len()];
    let (wrote, got) = tokio::join!(write.write_all(&sent), read.read_exact(&mut came));
    wrote.unwrap();
    got.unwrap();
    echo.await.unwrap();
    assert!(came == sent);
    // The end of their side ends ours.
    assert_eq!(read.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn both_ends_of_the_stream_are_reported() {
    let (mut ours, mut theirs) = pair();
    ours.write_all(b"last").await.unwrap();
    ours.shutdown().await.unwrap();
    let mut said = String::new();
    theirs.read_to_string(&mut said).unwrap();
    assert_eq!(said, "last");

    let (mut ours, theirs) = pair();
    drop(theirs);
    assert_eq!(ours.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn it_knows_its_peer() {
    let (ours, _theirs) = pair();
    assert_eq!(ours.peer_process(), Some(std::process::id().try_into().unwrap()));
}
