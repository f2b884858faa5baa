//! Requests in a session over lines of JSON.

use std::hint::black_box;

use bytes::BytesMut;
use protomcp_layers::on_one_thread;
use protomcp_transport::lines::Lines;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::echo::{CALL, INITIALIZE, INITIALIZED, server};

pub(crate) fn call(count: u32) {
    run(format!("{CALL}}}}}\n"), count);
}

pub(crate) fn list_tools(count: u32) {
    run("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n".to_owned(), count);
}

fn run(request: String, count: u32) {
    on_one_thread(async move {
        let (mut client, stream) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(stream);
        tokio::spawn(async move { server().serve_inline(Lines::new(reader, writer)).await });
        let mut buffer = BytesMut::with_capacity(4 << 10);
        ask(&mut client, &format!("{INITIALIZE}\n"), &mut buffer).await;
        client.write_all(format!("{INITIALIZED}\n").as_bytes()).await.expect("the server reads");
        for _ in 0..count {
            ask(&mut client, &request, &mut buffer).await;
        }
    });
}

async fn ask(client: &mut DuplexStream, request: &str, buffer: &mut BytesMut) {
    buffer.clear();
    client.write_all(request.as_bytes()).await.expect("the server reads");
    while buffer.last() != Some(&b'\n') {
        assert!(client.read_buf(buffer).await.expect("the server answers") > 0, "the server ended");
    }
    let error = br#""error""#;
    assert!(!buffer.windows(error.len()).any(|window| window == error), "an error: {buffer:?}");
    black_box(buffer);
}
