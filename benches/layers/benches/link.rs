//! One call over the link and back: two state machines in memory, and the driver over a real socket.

use std::os::unix::net::UnixStream;
use std::thread;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures_util::future::join_all;
use protomcp_layers::link::{self, Machines, PATIENCE, request};
use protomcp_layers::on_one_thread;
use protomcp_link::Link;
use tokio::runtime::Runtime;

const BURST: usize = 64;

fn main() {
    divan::main();
}

/// A call of about 200 bytes each way, through both state machines, without a socket.
#[divan::bench(sample_size = 1_000)]
fn machines_in_memory(bencher: Bencher<'_, '_>) {
    let mut machines = Machines::new();
    bencher.bench_local(|| machines.call());
}

/// One call at a time over a socket to a thread that replies.
#[divan::bench(sample_size = 100)]
fn driver_one_at_a_time(bencher: Bencher<'_, '_>) {
    let (runtime, link) = connected();
    bencher.bench_local(|| call(&runtime, &link, 1));
}

/// 64 calls in flight, all of them answered.
#[divan::bench(sample_size = 20)]
fn driver_64_in_flight(bencher: Bencher<'_, '_>) {
    let (runtime, link) = connected();
    bencher.counter(ItemsCount::new(BURST)).bench_local(|| call(&runtime, &link, BURST));
}

fn call(runtime: &Runtime, link: &Link, count: usize) {
    let link = link.clone();
    // Spawned, because programs do not do their work in the future given to `block_on`.
    let work = async move {
        for answer in join_all((0..count).map(|_| link.call(request(), PATIENCE))).await {
            black_box(answer.expect("the thread answers"));
        }
    };
    runtime.block_on(async { tokio::spawn(work).await }).expect("the calls do not panic");
}

/// A link to a thread, after the handshake.
fn connected() -> (Runtime, Link) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    thread::spawn(move || on_one_thread(async { link::serve(with_tokio(theirs)).await }));
    let link = runtime.block_on(async { link::connect(with_tokio(ours)).await });
    (runtime, link)
}

fn with_tokio(socket: UnixStream) -> tokio::net::UnixStream {
    socket.set_nonblocking(true).expect("a socket can be told not to block");
    tokio::net::UnixStream::from_std(socket).expect("a runtime is there")
}
